// src/backends/fx/operands.cpp: operands of a node as Python objects.
#include "backends/fx/operands.h"

#include <torch/csrc/Device.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/csrc/utils/tensor_layouts.h>
#include <torch/csrc/utils/tensor_memoryformats.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <stdexcept>

namespace stator::fx {
namespace {

template <class T>
py::object shared(T* object) {
  return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(object));
}

py::object value_object(const ValueObjects& values, ir::ValueId id) {
  if (id == ir::ValueId::kNone) return py::none();
  const py::object& found = values[index(id)];
  if (!found) throw std::runtime_error("a value that no node of the torch.fx graph makes");
  return found;
}

// Python reads "-0j" as -(0j), whose real part is negative too, and "infj" as a name.
bool reads_back(std::complex<double> number) {
  const auto is_usual = [](double part) { return std::isfinite(part) && !(part == 0 && std::signbit(part)); };
  return is_usual(number.real()) && is_usual(number.imag());
}

bool reads_back(const ir::Graph& graph, const ir::Operand& operand) {
  if (operand.kind == ir::OperandKind::kComplex) return reads_back(graph.complex(operand));
  return operand.kind != ir::OperandKind::kList ||
         std::ranges::all_of(graph.elements(operand),
                             [&](const ir::Operand& element) { return reads_back(graph, element); });
}

}  // namespace

bool has_source_text(const ir::Graph& graph) {
  return std::ranges::all_of(graph.nodes(), [&](const ir::Node& node) {
    return std::ranges::all_of(graph.operands(node),
                               [&](const ir::Operand& operand) { return reads_back(graph, operand); });
  });
}

py::object object_of(const ir::Graph& graph, const ir::Operand& operand, const ValueObjects& values,
                     const AddConstant& constant, const DimObject& dim) {
  using Kind = ir::OperandKind;
  switch (operand.kind) {
    case Kind::kNone:
      return py::none();
    case Kind::kValue:
      return value_object(values, operand.value);
    case Kind::kBool:
      return py::bool_(operand.boolean);
    case Kind::kInt:
      return py::int_(operand.integer);
    case Kind::kDouble:
      return py::float_(operand.real);
    case Kind::kComplex:
      return py::cast(graph.complex(operand));
    case Kind::kString:
      return py::str(graph.string(operand));
    case Kind::kDType:
      return shared(torch::getTHPDtype(static_cast<at::ScalarType>(operand.dtype)));
    case Kind::kLayout:
      return shared(torch::getTHPLayout(static_cast<at::Layout>(operand.layout)));
    case Kind::kMemoryFormat:
      return shared(torch::utils::getTHPMemoryFormat(static_cast<at::MemoryFormat>(operand.memory_format)));
    case Kind::kDevice:
      return py::reinterpret_steal<py::object>(THPDevice_New(
          c10::Device(static_cast<c10::DeviceType>(operand.device.type), operand.device.index)));
    case Kind::kIntList:
      return py::cast(std::vector<int64_t>(graph.ints(operand).begin(), graph.ints(operand).end()));
    case Kind::kDoubleList:
      return py::cast(std::vector<double>(graph.doubles(operand).begin(), graph.doubles(operand).end()));
    case Kind::kBoolList: {
      py::list list;
      for (int64_t bit : graph.ints(operand)) list.append(py::bool_(bit != 0));
      return list;
    }
    case Kind::kValueList:
    case Kind::kOptionalValueList: {
      py::list list;
      for (ir::ValueId id : graph.values(operand)) list.append(value_object(values, id));
      return list;
    }
    case Kind::kList: {
      py::list list;
      for (const ir::Operand& element : graph.elements(operand))
        list.append(object_of(graph, element, values, constant, dim));
      return list;
    }
    case Kind::kOpaque: {
      const auto& object = graph.constant(operand).object;
      if (!object) throw std::runtime_error("a constant of a graph that was read from text");
      return constant(torch::jit::toPyObject(*static_cast<const c10::IValue*>(object.get())));
    }
    case Kind::kSymInt:
      return dim(operand.expr);
    case Kind::kSymIntList: {
      py::list list;
      for (const shape::Dim& each : graph.dims(operand)) list.append(dim(each));
      return list;
    }
  }
  throw std::runtime_error("torch.fx has no form of an operand");
}

bool is_default(const ir::Graph& graph, const ir::Operand& operand, const c10::Argument& argument) {
  using Kind = ir::OperandKind;
  if (!argument.default_value()) return false;
  const c10::IValue& value = *argument.default_value();
  switch (operand.kind) {
    case Kind::kNone:
      return value.isNone();
    case Kind::kBool:
      return value.isBool() && value.toBool() == operand.boolean;
    case Kind::kInt:
      return value.isInt() && value.toInt() == operand.integer;
    case Kind::kDouble:
      return value.isDouble() && value.toDouble() == operand.real &&
             std::signbit(value.toDouble()) == std::signbit(operand.real);
    case Kind::kString:
      return value.isString() && value.toStringView() == graph.string(operand);
    case Kind::kDType:
      return value.isInt() && value.toInt() == static_cast<int64_t>(operand.dtype);
    case Kind::kLayout:
      return value.isInt() && value.toInt() == static_cast<int64_t>(operand.layout);
    case Kind::kMemoryFormat:
      return value.isInt() && value.toInt() == static_cast<int64_t>(operand.memory_format);
    case Kind::kIntList:
      return value.isIntList() && std::ranges::equal(graph.ints(operand), value.toIntVector());
    default:
      return false;
  }
}

}  // namespace stator::fx
