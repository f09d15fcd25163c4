install(TARGETS capball capball_static EXPORT capballTargets)
install(DIRECTORY include/capball DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
