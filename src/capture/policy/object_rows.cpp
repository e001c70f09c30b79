// capture/policy/object_rows.cpp: methods of objects, classes, functions, descriptors and exceptions.
#include "capture/policy/native_row.h"

namespace stator {
namespace {

using enum NativeEffect;
using enum Sight;

constexpr NativeRow kRows[] = {
    {"builtins.object", "__init__", writes_self, kNothing},
    {"builtins.object", "__new__ __init_subclass__", reads, kNothing},
    {"builtins.object", "__eq__", reads, all_of(kind)},
    {"builtins.object", "__ne__", reads},
    {"builtins.object", "__repr__ __str__ __format__", shows},
    {"builtins.object", "__hash__", hashes},
    {"builtins.object", "__reduce_ex__", reduces},
    {"builtins.object", "__setattr__ __delattr__", writes_attribute},
    {"builtins.object", "__getattribute__", reads_attribute},
    {"builtins.type", "__instancecheck__ __subclasscheck__ mro __or__ __repr__", reads, kItems},
    {"builtins.type", "__getattribute__", reads_attribute},
    {"builtins.int", "__getattribute__", reads_attribute},
    {"builtins.float", "__getattribute__", reads_attribute},
    {"builtins.complex", "__getattribute__", reads_attribute},
    {"builtins.str", "__getattribute__", reads_attribute},
    {"builtins.bytes", "__getattribute__", reads_attribute},
    {"builtins.tuple", "__getattribute__", reads_attribute},
    {"builtins.frozenset", "__getattribute__", reads_attribute},
    {"builtins.range", "__getattribute__", reads_attribute},
    {"builtins.slice", "__getattribute__", reads_attribute},
    {"builtins.type", "__setattr__ __delattr__", writes_attribute},
    {"builtins.property", "__new__ getter setter deleter", reads, kNothing},
    {"builtins.property", "__get__", reads, all_of(kind)},
    {"builtins.property", "__init__", writes_self, kNothing},
    {"builtins.classmethod", "__get__", reads, all_of(kind)},
    {"builtins.staticmethod", "__get__", reads, all_of(kind)},
    {"builtins.BaseException", "__init__ with_traceback add_note", writes_self, kNothing},
    {"builtins.BaseException", "__setstate__", writes_self, {nothing, pairs, nothing}},
    {"types", "MappingProxyType MethodType FunctionType", reads, kNothing},
    {"types", "SimpleNamespace", reads, {pairs, nothing, nothing}},
    {"types", "GenericAlias", reads, kItems},
    {"types.GenericAlias", "__new__", reads, kItems},
    {"types.ModuleType", "__getattribute__", reads_attribute},
    {"types.FunctionType", "__get__", reads, all_of(kind)},
    {"types.MethodType", "__eq__ __ne__", reads, all_of(kind)},
    {"types.MethodType", "__hash__", hashes},
    {"types.MappingProxyType", "get __contains__", reads_item},
    {"types.MappingProxyType", "__getitem__", reads_subscript},
    {"types.MappingProxyType", "keys values items copy __len__ __iter__ __or__ __reversed__", reads, kItems},
    {"types.MappingProxyType", "__eq__ __ne__", reads},
    {"types.GeneratorType", "send throw close __next__ __iter__", advances},
};

}  // namespace

std::span<const NativeRow> object_rows() { return kRows; }

}  // namespace stator
