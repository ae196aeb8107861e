# The Debian package: cmake --workflow --preset deb.

# Whoever builds it for others puts a name of their own here.
set(ORDER_SWEEP_MAINTAINER "order-sweep contributors <order-sweep@example.org>"
    CACHE STRING "Maintainer of the Debian package: name and address")

# The crontab entry and the units name the program under the prefix, and
# packages have theirs in /usr.
if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    return()
endif()

set(debian "${CMAKE_CURRENT_LIST_DIR}")

# What only a package has.
configure_file("${debian}/changelog.in" debian/changelog @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/debian/changelog"
    DESTINATION "${CMAKE_INSTALL_DOCDIR}"
    RENAME changelog.Debian
    COMPONENT debian
    EXCLUDE_FROM_ALL)
install(FILES "${debian}/copyright"
    DESTINATION "${CMAKE_INSTALL_DOCDIR}"
    COMPONENT debian
    EXCLUDE_FROM_ALL)
install(FILES "${debian}/lintian-overrides"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/lintian/overrides"
    RENAME order-sweep
    COMPONENT debian
    EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_INSTALL_CMAKE_PROJECTS "")
foreach(component ALL cron debian)
    list(APPEND CPACK_INSTALL_CMAKE_PROJECTS
        "${PROJECT_BINARY_DIR}" order-sweep ${component} /)
endforeach()
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PRE_BUILD_SCRIPTS "${debian}/arrange.cmake")
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${ORDER_SWEEP_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"A short-lived program, started by cron or systemd every minute. Each order is
cancelled in a transaction of its own, safely beside payments, other runs and
other hosts. Which orders are due, and what cancelling one means, is declared
once, in SQL, for the tables that the shop has.
.
Nothing runs until a line of /etc/cron.d/order-sweep, or a timer, is switched
on.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS adduser)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "cron | cron-daemon | systemd")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "postgresql, bash-completion")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    "${debian}/conffiles"
    "${debian}/postinst"
    "${debian}/prerm"
    "${debian}/postrm")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

include(CPack)
