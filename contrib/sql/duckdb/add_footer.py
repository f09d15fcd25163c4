#!/usr/bin/env python3
"""Appends to a shared library the footer by which DuckDB recognises an extension: add_footer.py FROM TO PLATFORM VERSION.

A WebAssembly custom section of eight fields of 32 bytes and room for a signature, which is left empty: such an extension is
loaded only where allow_unsigned_extensions is set.
"""
import os
import sys

C_API = "v1.2.0" # the oldest version of DuckDB's C API that has all functions used

source, target, platform, version = sys.argv[1:]
fields = ["", "", "", "C_STRUCT", version, C_API, platform, "4"]
section = b"\x00\x93\x04\x10duckdb_signature\x80\x04"
with open(source, "rb") as library, open(target + ".new", "wb") as extension:
    extension.write(library.read() + section + b"".join(field.encode().ljust(32, b"\0") for field in fields) + bytes(256))
os.replace(target + ".new", target) # processes may have loaded the old one
