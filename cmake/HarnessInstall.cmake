# `cmake --install BUILD --prefix DIR`: the programs in DIR/bin and what they read in DIR/share/harness. LibTorch stays where it is.
include(GNUInstallDirs)

function(harness_install)
  set(programs harness harness-scorer harness-keeper)
  if(HARNESS_TORCH)
    list(APPEND programs harness-worker)
    set_target_properties(harness-worker PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
    install(FILES ${CMAKE_BINARY_DIR}/share/harness/registry.json DESTINATION ${CMAKE_INSTALL_DATADIR}/harness)
  endif()
  if(TARGET harness_nccl)
    install(TARGETS harness_nccl LIBRARY DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
  install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY harness/tables harness/rules models/backbones models/scorers results/paper
          DESTINATION ${CMAKE_INSTALL_DATADIR}/harness PATTERN *.cpp EXCLUDE PATTERN *.h EXCLUDE)
endfunction()
