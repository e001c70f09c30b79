// capture/engine/imported_function.cpp: the entry of a library's table of imported functions, found through
// its dynamic section and overwritten.
#include "capture/engine/imported_function.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>

namespace stator {
namespace {

struct Search {
  std::string_view library, name;
  void* instead;
  bool found = false;
};

// The tables of a library are given as numbers.
template <class T>
T* pointer(uintptr_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// What the dynamic linker makes read-only once the library is loaded.
bool is_sealed(const dl_phdr_info* info, uintptr_t address) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type == PT_GNU_RELRO && address - info->dlpi_addr - part.p_vaddr < part.p_memsz) return true;
  }
  return false;
}

bool overwrite(const dl_phdr_info* info, uintptr_t slot, void* value) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const start = pointer<void>(slot & ~(page - 1));
  const bool sealed = is_sealed(info, slot);
  if (sealed && mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(pointer<void*>(slot), value, __ATOMIC_RELEASE);
  if (sealed) mprotect(start, page, PROT_READ);
  return true;
}

int visit(dl_phdr_info* info, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const std::string_view path = info->dlpi_name;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  if (!file.starts_with(search.library)) return 0;
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = pointer<const ElfW(Dyn)>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  }
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  // Functions that are called by the first table, those whose address is taken or that are bound at load by
  // the second.
  const ElfW(Rela)* calls = nullptr, *others = nullptr;
  size_t calls_size = 0, others_size = 0;
  for (const ElfW(Dyn)* entry = dynamic; entry != nullptr && entry->d_tag != DT_NULL; entry++) {
    const auto address = entry->d_un.d_ptr;  // glibc has added the load address
    switch (entry->d_tag) {
      case DT_SYMTAB:
        symbols = pointer<const ElfW(Sym)>(address);
        break;
      case DT_STRTAB:
        strings = pointer<const char>(address);
        break;
      case DT_JMPREL:
        calls = pointer<const ElfW(Rela)>(address);
        break;
      case DT_PLTRELSZ:
        calls_size = entry->d_un.d_val;
        break;
      case DT_RELA:
        others = pointer<const ElfW(Rela)>(address);
        break;
      case DT_RELASZ:
        others_size = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  if (symbols == nullptr || strings == nullptr) return 0;
  const auto replace_in = [&](const ElfW(Rela) * table, size_t size) {
    for (size_t i = 0; table != nullptr && i < size / sizeof(*table); i++) {
      const auto kind = ELF64_R_TYPE(table[i].r_info);
      if (kind != R_X86_64_JUMP_SLOT && kind != R_X86_64_GLOB_DAT) continue;
      if (search.name != strings + symbols[ELF64_R_SYM(table[i].r_info)].st_name) continue;
      search.found = overwrite(info, info->dlpi_addr + table[i].r_offset, search.instead) || search.found;
    }
  };
  replace_in(calls, calls_size);
  replace_in(others, others_size);
  return 1;
}

}  // namespace

bool replace_imported_function(const char* library, const char* name, void* instead) {
  Search search{library, name, instead};
  dl_iterate_phdr(&visit, &search);
  return search.found;
}

}  // namespace stator
