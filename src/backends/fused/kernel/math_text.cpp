// src/backends/fused/kernel/math_text.cpp: exp, log, tanh and erf of float32 without branches.
//
// The coefficients are minimax fits made for these intervals (relative error of the polynomial below 6e-9),
// so that rounding in float32 is what remains. Infinities and NaNs come out as the C library gives them.
#include <initializer_list>

#include "backends/fused/kernel/ir_writer.h"

namespace stator::fused {
namespace {

constexpr Type kF = Type::f32;

class FloatFunction {
 public:
  explicit FloatFunction(const std::string& name) {
    w_.out = "define internal float @" + name + "(float %x) alwaysinline {\n";
  }
  std::string finish(const std::string& result) { return w_.out + "  ret float " + result + "\n}\n"; }

  static std::string number(double value) { return float_constant(kF, value); }
  std::string add(const std::string& a, const std::string& b) { return w_.binary("fadd", kF, a, b); }
  std::string sub(const std::string& a, const std::string& b) { return w_.binary("fsub", kF, a, b); }
  std::string mul(const std::string& a, const std::string& b) { return w_.binary("fmul", kF, a, b); }
  std::string div(const std::string& a, const std::string& b) { return w_.binary("fdiv", kF, a, b); }
  std::string fma(const std::string& a, const std::string& b, const std::string& c) {
    return w_.fma(kF, a, b, c);
  }
  std::string abs(const std::string& a) { return w_.call("llvm.fabs.f32", kF, {a}); }
  std::string with_sign(const std::string& a, const std::string& sign) {
    return w_.call("llvm.copysign.f32", kF, {a, sign});
  }
  // False if either is a NaN.
  std::string less(const std::string& a, const std::string& b) {
    return w_.line("fcmp olt float " + a + ", " + b);
  }
  std::string select(const std::string& condition, const std::string& a, const std::string& b) {
    return w_.select(condition, kF, a, b);
  }
  std::string bits(const std::string& a) { return w_.line("bitcast float " + a + " to i32"); }
  std::string from_bits(const std::string& a) { return w_.line("bitcast i32 " + a + " to float"); }
  std::string integer(const std::string& instruction) { return w_.line(instruction); }
  std::string call(const std::string& function, const std::string& a) { return w_.call(function, kF, {a}); }

  // Coefficients of falling powers.
  std::string polynomial(const std::string& at, std::initializer_list<double> coefficients) {
    std::string value;
    for (double coefficient : coefficients)
      value = value.empty() ? number(coefficient) : fma(value, at, number(coefficient));
    return value;
  }

 private:
  IrWriter w_;
};

// 2^n * e^r with |r| <= ln(2) / 2. The power is applied in two halves: results that underflow are rounded
// once, and those that overflow are infinite.
std::string exp_function() {
  FloatFunction f("stator.exp.f32");
  std::string x = f.select(f.less("%x", f.number(-105)), f.number(-105), "%x");
  x = f.select(f.less(f.number(89), x), f.number(89), x);
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
  const std::string shifted = f.fma(x, f.number(1.4426950408889634), f.number(12582912));
  const std::string n = f.integer("sub i32 " + f.bits(shifted) + ", 1262485504");
  const std::string whole = f.sub(shifted, f.number(12582912));
  std::string r = f.fma(whole, f.number(-0.693145751953125), x);
  r = f.fma(whole, f.number(-1.428606765330187e-06), r);
  const std::string p =
      f.polynomial(r, {0.00019790349, 0.0013944658, 0.008333497, 0.041666295, 0.16666666, 0.5, 1.0, 1.0});
  const std::string half = f.integer("ashr i32 " + n + ", 1");
  const std::string rest = f.integer("sub i32 " + n + ", " + half);
  const auto power = [&](const std::string& exponent) {
    const std::string biased = f.integer("add i32 " + exponent + ", 127");
    return f.from_bits(f.integer("shl i32 " + biased + ", 23"));
  };
  const std::string scaled = f.mul(p, power(half));
  return f.finish(f.mul(scaled, power(rest)));
}

// ln(m) + e ln(2) with m from sqrt(1/2) to sqrt(2).
std::string log_function() {
  FloatFunction f("stator.log.f32");
  const std::string tiny = f.less("%x", f.number(1.1754943508222875e-38));
  const std::string x = f.select(tiny, f.mul("%x", f.number(8388608)), "%x");
  // The bits of sqrt(1/2) are taken off, so that the exponent changes where m is to begin anew.
  const std::string from_root = f.integer("sub i32 " + f.bits(x) + ", 1060439283");
  const std::string exponent = f.integer("ashr i32 " + from_root + ", 23");
  const std::string mantissa_bits = f.integer("and i32 " + from_root + ", 8388607");
  const std::string m = f.from_bits(f.integer("add i32 " + mantissa_bits + ", 1060439283"));
  const std::string converted = f.integer("sitofp i32 " + exponent + " to float");
  const std::string e = f.select(tiny, f.sub(converted, f.number(23)), converted);
  const std::string r = f.sub(m, f.number(1));
  const std::string p = f.polynomial(r, {0.06746601, -0.11675641, 0.11888175, -0.124055915, 0.14219551,
                                         -0.16667996, 0.20002119, -0.2500001, 0.33333313});
  const std::string square = f.mul(r, r);
  std::string low = f.fma(f.mul(square, r), p, f.mul(e, f.number(-1.904654323148236e-09)));
  low = f.fma(square, f.number(-0.5), low);
  const std::string value = f.fma(e, f.number(0.6931471824645996), f.add(low, r));
  const std::string infinity = f.number(__builtin_inf());
  const std::string finite = f.select(f.less("%x", infinity), value, "%x");  // infinity and NaN as they are
  const std::string negative = f.select(f.less("%x", f.number(0)), f.number(__builtin_nan("")), finite);
  const std::string zero = f.integer("fcmp oeq float %x, " + f.number(0));
  return f.finish(f.select(zero, f.number(-__builtin_inf()), negative));
}

std::string tanh_function() {
  FloatFunction f("stator.tanh.f32");
  const std::string magnitude = f.abs("%x"), square = f.mul("%x", "%x");
  const std::string p =
      f.polynomial(square, {-0.0055849324, 0.020533333, -0.053707972, 0.13331072, -0.3333327});
  const std::string small = f.fma(f.mul(square, "%x"), p, "%x");
  const std::string power = f.call("stator.exp.f32", f.add(magnitude, magnitude));
  const std::string large = f.sub(f.number(1), f.div(f.number(2), f.add(power, f.number(1))));
  // The sign of zero is lost in the sum of `small`.
  return f.finish(f.with_sign(f.select(f.less(magnitude, f.number(0.625)), small, large), "%x"));
}

// x + x p(x^2) near zero; 1 - e^(-t q(t)) beyond, which is 1 in float32 from 4 on.
std::string erf_function() {
  FloatFunction f("stator.erf.f32");
  const std::string magnitude = f.abs("%x"), square = f.mul("%x", "%x");
  const std::string p = f.polynomial(square, {7.853858e-05, -0.00080101925, 0.0051883277, -0.026853811,
                                              0.112835854, -0.37612626, 0.12837917});
  const std::string small = f.fma(p, "%x", "%x");
  const std::string t = f.select(f.less(f.number(4), magnitude), f.number(4), magnitude);
  const std::string q = f.polynomial(t, {4.4269245e-06, -3.9300823e-05, -8.1877e-05, 0.0030202582,
                                         -0.022821547, 0.10540417, 0.6355515, 1.1285679});
  const std::string tail = f.call("stator.exp.f32", f.mul(q, f.sub(f.number(0), t)));
  const std::string large = f.with_sign(f.sub(f.number(1), tail), "%x");
  return f.finish(f.select(f.less(magnitude, f.number(0.97)), small, large));
}

}  // namespace

std::string math_function(Op op, Type type) {
  if (type == Type::f64) return std::string(text(op));
  return "stator." + std::string(text(op)) + ".f32";
}

std::string math_functions() {
  std::string result = exp_function() + log_function() + tanh_function() + erf_function();
  for (const char* name : {"exp", "log", "tanh", "erf"})
    result += "declare double @" + std::string(name) + "(double)\n";
  for (const char* name : {"fabs", "sqrt", "floor", "ceil", "trunc"}) {
    for (const char* type : {"float", "double"}) {
      const std::string suffix = type[0] == 'f' ? ".f32" : ".f64";
      result += std::string("declare ") + type + " @llvm." + name + suffix + "(" + type + ")\n";
    }
  }
  for (const char* name : {"maximum", "minimum", "copysign"}) {
    for (const char* type : {"float", "double"}) {
      const std::string suffix = type[0] == 'f' ? ".f32" : ".f64";
      result += std::string("declare ") + type + " @llvm." + name + suffix + "(" + type + ", " + type + ")\n";
    }
  }
  result += "declare float @llvm.fma.f32(float, float, float)\n";
  result += "declare double @llvm.fma.f64(double, double, double)\n";
  result += "declare i64 @llvm.smax.i64(i64, i64)\ndeclare i64 @llvm.smin.i64(i64, i64)\n";
  return result;
}

}  // namespace stator::fused
