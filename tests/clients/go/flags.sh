# For `source`. Without optimization, debug information and collections of its memory the compiler takes a third of the time. The
# guide's program uses what this compiles, so its flags are the same.
export GOGC=800 GOTOOLCHAIN=local GOFLAGS=-mod=readonly
flags=(-gcflags='all=-N -l -dwarf=false' -ldflags='-s -w')
