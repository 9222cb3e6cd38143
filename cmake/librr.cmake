# librr: all layers below the program, and the two stores, for programs that embed the reconciler, as a shared and a static library, with
# the headers of src/include/rr and rr.pc. The shared one exports what these headers declare, and nothing else.
# SPDX-License-Identifier: Apache-2.0
set(RR_LIBRARY_OBJECTS)
set(RR_LIBRARY_LAYERS)
foreach(layer base wire core codec mapping batch host store_memory store_redis)
  if(TARGET rr_${layer})
    list(APPEND RR_LIBRARY_OBJECTS $<TARGET_OBJECTS:rr_${layer}>)
    list(APPEND RR_LIBRARY_LAYERS rr_${layer})
  endif()
endforeach()

file(GLOB RR_HEADERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/include/rr/*.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${RR_HEADERS})
set(RR_EXPORTS)
foreach(header ${RR_HEADERS})
  file(READ ${header} text)
  string(REGEX MATCHALL "rr_[a-z0-9_]+\\(" names "${text}")
  list(APPEND RR_EXPORTS ${names})
endforeach()
list(REMOVE_DUPLICATES RR_EXPORTS)
list(TRANSFORM RR_EXPORTS REPLACE "\\(" "$<SEMICOLON>")
list(JOIN RR_EXPORTS "\n    " RR_EXPORTS)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/librr.map
     CONTENT "RR_${PROJECT_VERSION_MAJOR} {\n  global:\n    ${RR_EXPORTS}\n  local: *;\n};\n")

add_library(rr_shared SHARED ${RR_LIBRARY_OBJECTS})
add_library(rr_static STATIC ${RR_LIBRARY_OBJECTS})
foreach(target rr_shared rr_static)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME rr LINKER_LANGUAGE C)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src/include>)
endforeach()
set_target_properties(rr_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                      LINK_DEPENDS ${PROJECT_BINARY_DIR}/librr.map)
target_link_options(rr_shared PRIVATE -Wl,--version-script=${PROJECT_BINARY_DIR}/librr.map)
# The layers' own dependencies; their objects are in already, so nothing is taken from them twice.
target_link_libraries(rr_shared PRIVATE ${RR_LIBRARY_LAYERS})

# From where rr.pc lies, so that cmake --install --prefix and packages may put it anywhere.
file(RELATIVE_PATH RR_PC_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(${PROJECT_SOURCE_DIR}/cmake/rr.pc.in ${PROJECT_BINARY_DIR}/rr.pc @ONLY)
install(TARGETS rr_shared rr_static LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/include/rr DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_BINARY_DIR}/rr.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
