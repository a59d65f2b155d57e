# cpack's settings for the Debian packages. Whoever builds them for others says who they are:
# -DMGW_PACKAGE_MAINTAINER='Name <address>'.
set(MGW_PACKAGE_MAINTAINER "mgw maintainers <mgw@localhost.localdomain>" CACHE STRING "Maintainer of the packages")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mgw)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
# Each package has a description of its own.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_PACKAGE_CONTACT "${MGW_PACKAGE_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL mgw tools doc)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)

set(CPACK_DEBIAN_MGW_PACKAGE_NAME mgw)
set(CPACK_DEBIAN_MGW_PACKAGE_SECTION comm)
set(CPACK_DEBIAN_MGW_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_MGW_PACKAGE_SUGGESTS "mgw-tools, mgw-doc, prometheus")
set(CPACK_DEBIAN_MGW_PACKAGE_CONTROL_EXTRA
  "${CMAKE_CURRENT_SOURCE_DIR}/debian/conffiles" "${CMAKE_CURRENT_SOURCE_DIR}/debian/postinst"
  "${CMAKE_CURRENT_SOURCE_DIR}/debian/prerm" "${CMAKE_CURRENT_SOURCE_DIR}/debian/postrm")
set(CPACK_COMPONENT_MGW_DESCRIPTION "media gateway for voice calls, steered over MGCP
mgw relays and converts voice (RTP and RTCP) between the legs of a call,
and call agents steer it over MGCP. It takes the place of osmo-mgw in 2G, 3G
and private mobile networks: osmo-bsc, osmo-msc, osmo-hnbgw and osmo-bsc-nat
speak MGCP to it, and it reads osmo-mgw's configuration files.
.
Legs are plain RTP, Iu UP, circuits of an Osmux trunk or sub-slots of E1
lines, and each kind pairs with each other one.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME mgw-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION comm)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "control client and load generator for media gateways
mgwctl says to a media gateway what a call agent says over MGCP, shows what
it does, and converts osmo-mgw's configuration files. rtpload sets up calls
by the hundred, plays both of their sides and measures what comes out.
.
Both work with mgw and with every other gateway that speaks MGCP.")

set(CPACK_DEBIAN_DOC_PACKAGE_NAME mgw-doc)
set(CPACK_DEBIAN_DOC_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
set(CPACK_COMPONENT_DOC_DESCRIPTION "manual of the media gateway mgw
The manual of mgw, which starts from tasks: bridging two legs, replacing
osmo-mgw, sizing a server, finding one-way audio, watching and protecting it,
upgrading it. With it come the references of the VTY and CTRL interfaces and
the description of its architecture.")

include(CPack)
