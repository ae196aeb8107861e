# Gives the files of the package Debian's form, before it is packed: texts are
# compressed, the licence is the file copyright.
set(root "${CPACK_TEMPORARY_DIRECTORY}")
set(doc "${root}/usr/share/doc/order-sweep")
file(REMOVE "${doc}/LICENSE")
file(RENAME "${doc}/CHANGELOG.md" "${doc}/changelog")
execute_process(
    COMMAND gzip -9n
        "${doc}/changelog"
        "${doc}/changelog.Debian"
        "${root}/usr/share/man/man8/order-sweep.8"
    COMMAND_ERROR_IS_FATAL ANY)

# Whatever the umask.
file(CHMOD_RECURSE "${root}/etc" "${root}/usr"
    DIRECTORY_PERMISSIONS
        OWNER_READ OWNER_WRITE OWNER_EXECUTE
        GROUP_READ GROUP_EXECUTE
        WORLD_READ WORLD_EXECUTE)
