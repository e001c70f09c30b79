// src/core/result.h: a value or the reason why there is none; expected failures are returned, not thrown.
#pragma once

#include <utility>
#include <variant>

namespace stator {

template <class T, class E>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: a value is a result
  Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: so is an error

  explicit operator bool() const { return state_.index() == 0; }
  // Preconditions: there is a value, there is an error.
  T& operator*() { return *std::get_if<0>(&state_); }
  const T& operator*() const { return *std::get_if<0>(&state_); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  const E& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, E> state_;
};

}  // namespace stator
