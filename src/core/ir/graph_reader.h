// src/core/ir/graph_reader.h: the parser's state; statements, types and operands are read in one file each.
#pragma once

#include <string_view>
#include <vector>

#include "core/ir/graph.h"
#include "core/ir/text_cursor.h"

namespace stator::ir {

class GraphReader {
 public:
  GraphReader(std::string_view text, std::shared_ptr<OperatorTable> operators)
      : cursor_(text), graph_(std::move(operators)) {}

  void read();
  const TextCursor& cursor() const { return cursor_; }
  Graph take() { return std::move(graph_); }

 private:
  // A value as the text defines it, before it is entered into the graph.
  struct Definition {
    size_t at = 0;
    ValueId id = ValueId::kNone;
    ValueSpec spec;  // its spans are set from the vectors when it is entered
    std::vector<shape::Dim> sizes, strides;
  };

  // parse.cpp
  void read_statement();
  void read_operator();
  void read_symbol();
  void read_guard();
  void read_constant();
  void read_definitions();
  void read_input(Definition* definition);
  void read_node(std::vector<Definition>* definitions);
  void read_return();
  void enter(Definition* definition, NodeId node);
  void check_undefined(const Definition& definition);
  std::string_view operator_name();
  OpId operator_for_call(std::string_view name, const std::vector<std::string>& keywords, size_t at);

  // parse_type.cpp
  Definition read_definition();
  void read_type(Definition* definition);
  void read_type_words(Definition* definition);
  void read_dims(char close, std::vector<shape::Dim>* dims);
  shape::Dim read_dim();
  Device read_device();
  ValueId read_value_id();
  ValueId read_value_use();  // must be defined
  std::string read_comment();
  LineId read_line_comment();
  std::string read_word(const char* what);

  // parse_operand.cpp
  Operand read_operand();
  Operand read_number();
  Operand read_named_operand();
  Operand read_list();
  Operand read_optional_values();
  template <class Enum>
  Operand read_enum(std::optional<Enum> (*from_text)(std::string_view), const char* what);

  // An id far beyond the size of any text would only ask for memory.
  static constexpr uint32_t kMaxValues = 1 << 22;
  static constexpr int kMaxDepth = 100;

  TextCursor cursor_;
  Graph graph_;
  int depth_ = 0;
};

}  // namespace stator::ir
