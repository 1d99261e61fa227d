// SPDX-License-Identifier: Apache-2.0
#include "kernel_table.h"

#include <elf.h>
#include <link.h>

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <unordered_map>
#include <vector>

namespace kvlab::simt {
namespace {

/// Addresses of functions of this module or program -> their names as the compiler writes them.
using Names = std::unordered_map<uintptr_t, std::string>;

/// The file that this code was loaded from, and how far from its own addresses.
struct Loaded {
  std::string file;
  uintptr_t shift = 0;
};

Loaded loadedFrom() {
  Loaded found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        const auto here = reinterpret_cast<uintptr_t>(&resourcesOf);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          const uintptr_t begin = info->dlpi_addr + part.p_vaddr;
          if (part.p_type != PT_LOAD || here < begin || here >= begin + part.p_memsz) continue;
          *static_cast<Loaded*>(to) = {*info->dlpi_name ? info->dlpi_name : "/proc/self/exe", info->dlpi_addr};
          return 1;
        }
        return 0;
      },
      &found);
  return found;
}

template <class T>
std::vector<T> readAt(std::ifstream& file, uint64_t at, uint64_t count) {
  std::vector<T> all(count);
  file.seekg(static_cast<std::streamoff>(at));
  file.read(reinterpret_cast<char*>(all.data()), static_cast<std::streamsize>(count * sizeof(T)));
  return file ? all : std::vector<T>();
}

/// Out of the table of symbols, which a file has unless somebody strips it.
Names functionsHere() {
  const Loaded loaded = loadedFrom();
  std::ifstream file(loaded.file, std::ios::binary);
  const auto header = readAt<Elf64_Ehdr>(file, 0, 1);
  if (header.empty()) return {};
  const auto sections = readAt<Elf64_Shdr>(file, header[0].e_shoff, header[0].e_shnum);
  Names names;
  for (const Elf64_Shdr& one : sections) {
    if (one.sh_type != SHT_SYMTAB || one.sh_link >= sections.size()) continue;
    const Elf64_Shdr& texts = sections[one.sh_link];
    std::vector<char> text = readAt<char>(file, texts.sh_offset, texts.sh_size);
    text.push_back('\0');
    for (const Elf64_Sym& s : readAt<Elf64_Sym>(file, one.sh_offset, one.sh_size / sizeof(Elf64_Sym)))
      if (ELF64_ST_TYPE(s.st_info) == STT_FUNC && s.st_value && s.st_name < text.size())
        names.emplace(loaded.shift + s.st_value, &text[s.st_name]);
  }
  return names;
}

/// The last part of a mangled name, without its namespaces and arguments.
std::string lastPart(const std::string& mangled) {
  size_t at = mangled.starts_with("_ZN") ? 3 : 2;
  std::string part;
  while (at < mangled.size() && std::isdigit(static_cast<unsigned char>(mangled[at]))) {
    char* end = nullptr;
    const size_t length = std::strtoul(&mangled[at], &end, 10);
    at = static_cast<size_t>(end - mangled.data());
    part = mangled.substr(at, length);
    at += length;
  }
  return part;
}

std::map<std::string, KernelResources>& table() {
  static std::map<std::string, KernelResources> all = [] {
    std::map<std::string, KernelResources> made;
#define KVLAB_KERNEL(name, sm75, sm80, sm90, sm100, sm120, stackBytes, sharedBytes) \
  made[#name] = {#name, {sm75, sm80, sm90, sm100, sm120}, sharedBytes};
#include "kernel_resources.inc"
#undef KVLAB_KERNEL
    return made;
  }();
  return all;
}

}  // namespace

const KernelResources* resourcesOf(const void* kernel) {
  static const Names names = functionsHere();
  static std::unordered_map<const void*, const KernelResources*> known;
  const auto [at, added] = known.try_emplace(kernel, nullptr);
  if (!added && at->second) return at->second;
  const auto name = names.find(reinterpret_cast<uintptr_t>(kernel));
  if (name == names.end()) return nullptr;
  const auto line = table().find(lastPart(name->second));
  if (line != table().end()) at->second = &line->second;
  return at->second;
}

void declareKernel(const std::string& name, int registers, int sharedBytes) {
  KernelResources& one = table()[name] = {name, {}, sharedBytes};
  one.registers.fill(registers);
}

}  // namespace kvlab::simt
