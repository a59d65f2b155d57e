#pragma once
// The program for the kernel as the compiler made it (io/bpf/kernel_path.bpf.c), in an ELF file
// that is part of this program.

#include <cstddef>
#include <span>

namespace io {

/// The octets of the file.
extern const std::span<const std::byte> kKernelPathObject;

}  // namespace io
