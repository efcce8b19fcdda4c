// The code around recorded graphs, compiled for stream_graph_twin.cpp.
#include "models/graphs/graphed_network.cpp"
