// src/torch/operators/operator_table.cpp: names and effects of torch's operators, for the graph.
#include "torch/operators/operator_table.h"

#include "torch/operators/operator_info.h"

namespace stator {

const std::shared_ptr<ir::OperatorTable>& torch_operators() {
  static const auto table = std::make_shared<ir::OperatorTable>();
  return table;
}

ir::OpId data_operator() {
  static const ir::OpId id = [] {
    ir::Operator op;
    op.name = "stator::data";
    op.flags = ir::OpFlag::kPure;
    op.arguments = {"self"};
    return torch_operators()->add(std::move(op));
  }();
  return id;
}

ir::OpId set_data_operator() {
  static const ir::OpId id = [] {
    ir::Operator op;
    op.name = "stator::set_data";
    op.flags = ir::OpFlag::kPure;
    op.writes = 0b11;
    op.arguments = {"self", "new_data"};
    return torch_operators()->add(std::move(op));
  }();
  return id;
}

const OperatorInfo* torch_operator(ir::OpId id) {
  const std::string& name = (*torch_operators())[id].name;
  const size_t dot = name.find('.');
  const auto handle = c10::Dispatcher::singleton().findSchema(
      {name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)});
  return handle ? &operator_info(*handle) : nullptr;
}

}  // namespace stator
