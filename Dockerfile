# harness on Debian 12, with LibTorch's CPU libraries:
#   docker build -t harness .
#   docker run --rm -v "$PWD/runs:/work/runs" harness reproduce --table sd35-ocr --scale smoke
FROM debian:12-slim AS build
ARG HARNESS_BUILD_JOBS=2
ENV HARNESS_DEPS=/opt/harness-deps
WORKDIR /src
# On its own, so that a change of the sources installs nothing again.
COPY scripts/setup scripts/setup
RUN scripts/setup && rm -rf /var/lib/apt/lists/*
COPY . .
RUN HARNESS_BUILD_JOBS="$HARNESS_BUILD_JOBS" \
    scripts/build release harness_programs \
    && cmake --install build/release --prefix /opt/harness
# The installed worker looks for LibTorch where it was built with it; it needs the libraries alone.
WORKDIR /opt/harness-deps
RUN mkdir /opt/libraries && cp -a --parents torch-*/torch/lib torch-*/nvidia /opt/libraries

FROM debian:12-slim
# Their versions are those of Debian 12.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
       libarchive13 libcairo2 libfmt9 libjpeg62-turbo libpango-1.0-0 libpangocairo-1.0-0 libpng16-16 libsqlite3-0 libssl3 libstdc++6 \
       libtesseract5 libutf8proc2 fonts-dejavu-core fonts-liberation tesseract-ocr-eng \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home harness \
    && install -d -o harness -g harness /work
COPY --from=build /opt/libraries /opt/harness-deps
COPY --from=build /opt/harness /opt/harness
ENV PATH=/opt/harness/bin:$PATH LANG=C.UTF-8
USER 1000
WORKDIR /work
ENTRYPOINT ["harness"]
CMD ["--help"]
