// capture/policy/native_row.h: one row of the tables that say what C functions may do.
//
// C code sees everything that its arguments reach, and calls what it is given, until a row says less. A
// function without a row ends the capture.
#ifndef STATOR_CAPTURE_POLICY_NATIVE_ROW_H
#define STATOR_CAPTURE_POLICY_NATIVE_ROW_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace stator {

// How deep a function looks into an argument.
enum class Sight : uint8_t {
  everything,  // whatever C code may reach from it: items of items, the classes of instances
  items,       // which items it has
  keys,        // the keys of a dictionary, not what it holds under them; of anything else: items
  size,        // how many items it has
  truth,       // whether it is true
  pairs,       // items of a mapping, or the items of items: what a dictionary is made of
  kind,        // of which class it is
  nothing,     // it is kept or passed on
};

enum class NativeEffect : uint8_t {
  reads,              // looks at its arguments and does nothing else
  shows,              // the same, and puts them into words
  hashes,             // hash(x)
  reads_dict,         // vars(x)
  asks_registry,      // isinstance and issubclass of abstract base classes
  acquires,           // takes a lock
  releases,           // gives it back
  asks_exception,     // sys.exc_info()
  reduces,            // x.__reduce_ex__(4)
  reads_item,         // looks for argument 1 in argument 0
  reads_subscript,    // argument 0[argument 1]
  reads_attribute,    // reads an attribute of argument 0
  writes_self,        // changes its first argument (self included)
  writes_item,        // argument 0[argument 1] = argument 2
  deletes_item,       // del argument 0[argument 1]
  writes_in_place,    // argument 0 += argument 1
  writes_attribute,   // setattr and delattr
  advances,           // takes a value out of its first argument, an iterator
  calls,              // calls its first argument with the others
  asks_super,         // super(), which looks into the frame that calls it
  asks_type,          // type(x)
  asks_identity,      // id(x)
  asks_setting,       // a setting of the process that is read without arguments
  compares_identity,  // operator.is_
  warns,              // warnings.warn()
  asks_context,       // what a context variable holds
  sets_context,       // sets a context variable
  resets_context,     // sets it back
  draws,              // moves a generator of random numbers
};

struct Sees {
  Sight first = Sight::everything, second = Sight::everything, rest = Sight::everything;
  constexpr Sight of(size_t argument) const { return argument == 0 ? first : argument == 1 ? second : rest; }
};
constexpr Sees all_of(Sight sight) { return {sight, sight, sight}; }
inline constexpr Sees kItems = all_of(Sight::items);
inline constexpr Sees kNothing = all_of(Sight::nothing);

// The argument that a function calls, now or when the iterator that it makes is advanced.
struct Calls {
  static constexpr int8_t kOthers = -1;    // with one argument for each of the other arguments
  static constexpr int8_t kUnpacked = -2;  // with the items of an item

  int8_t position = -1;  // -1: by keyword only
  const char* keyword = nullptr;
  int8_t arity = 1;
  bool looks = true;  // at what the callable gives, and does not only pass it on
  // Where a callable is given, the function looks at what that gives and not at the items themselves.
  bool instead = false;
  uint8_t least = 0;  // arguments that there must be: iter(x) calls nothing, iter(f, end) does
  constexpr bool any() const { return position >= 0 || keyword != nullptr; }
};

struct NativeRow {
  const char* where;  // module, or module.type
  const char* names;  // separated by spaces
  NativeEffect effect;
  Sees sees = {};
  Calls calls = {};
};

// One table a subject.
std::span<const NativeRow> builtin_rows();
std::span<const NativeRow> number_rows();
std::span<const NativeRow> text_rows();
std::span<const NativeRow> container_rows();
std::span<const NativeRow> object_rows();
std::span<const NativeRow> operator_rows();
std::span<const NativeRow> iteration_rows();
std::span<const NativeRow> library_rows();

}  // namespace stator

#endif
