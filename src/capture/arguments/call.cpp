// capture/arguments/call.cpp: the stock of values of calls.
#include "capture/arguments/call.h"

namespace stator {

static thread_local std::vector<std::unique_ptr<CallValues>> stock;

LeasedValues::LeasedValues() {
  if (stock.empty()) {
    values_ = std::make_unique<CallValues>();
    return;
  }
  values_ = std::move(stock.back());
  stock.pop_back();
}

LeasedValues::~LeasedValues() {
  values_->tensors.clear();
  values_->containers.clear();
  values_->inputs.clear();
  values_->outputs.clear();
  values_->made.clear();
  values_->on_arrays.clear();
  try {
    stock.push_back(std::move(values_));
  } catch (const std::bad_alloc&) {
    // The stock stays as it is.
  }
}

}  // namespace stator
