// src/torch/operators/operator_table.h: torch's operators as the graph's operator table numbers them.
#pragma once

#include <memory>

#include "core/ir/operator.h"

namespace stator {

struct OperatorInfo;

// Shared by all graphs that hold torch operators.
const std::shared_ptr<ir::OperatorTable>& torch_operators();

// Looks the operator up in torch's dispatcher by the name it has in the table; nullptr for pseudo-operators
// and names that torch does not know.
const OperatorInfo* torch_operator(ir::OpId id);

// `.data`: not a dispatcher operator, but a node.
ir::OpId data_operator();
// `a.data = b`: torch's own set_data, of which the graph must know that both share their memory from then on.
ir::OpId set_data_operator();

}  // namespace stator
