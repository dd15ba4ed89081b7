"""Metadata that is made at the first look at it. The data sheet is ``metadata.pxd``."""


cdef class ModuleFacts:
    cdef dict metadata(self):
        return {}

    cdef int names(self, dict variables, dict members, dict types) except -1:
        return 0


cdef dict _own_abi(dict abi):
    """An ABI of one's own: what is kept is nobody's to change."""
    return {
        **abi, "user_sgprs": [{**each} for each in abi["user_sgprs"]], "workgroup_size": [*abi["workgroup_size"]],
        "descriptor_sets": {number: {"size": facts["size"], "bindings": {binding: {**each} for binding, each in facts["bindings"].items()}}
                            for number, facts in abi["descriptor_sets"].items()},
    }


cdef class Metadata:
    def __cinit__(self):
        self.known = {}

    cdef dict whole(self):
        """All metadata, as a dict that stays the same object."""
        cdef ModuleFacts module = self.module
        cdef DeclaredArguments declared = self.declared
        self.module = None
        self.declared = None
        if module is not None:
            for name, value in module.metadata().items():
                self.known.setdefault(name, value)
        if declared is not None:
            self.known.update(declared.kept, abi=_own_abi(declared.kept["abi"]))
        return self.known

    cdef Metadata copy(self):
        cdef Metadata made = Metadata()
        made.known.update(self.known)
        made.module = self.module
        made.declared = self.declared
        return made
