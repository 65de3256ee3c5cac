"""The compiled core. It takes and returns buffers, and imports nothing else of tokkit.

Begin with encode.pyx and csrc/encode/plan.h, text → ids; each .pyx is made of the .pxi of the folder of its name, and
csrc has the plain C that they call.
"""
