"""Readers of sizes: what a program may do with `n`, a size of its tensor that changes from call to call.

Sizes become symbols at the second size; these programs find arithmetic on them that is not Python's.
"""

from __future__ import annotations

from mutation_texts import paragraphs, texts

EXPRESSIONS = texts("""
n ** 5  n ** 40  n * 4611686018427387904  n * n * n * n > 10  n << 62  n << 70  n - 9223372036854775807 - 5
-n * 2 ** 62  (n * 31 + 7) * 1000003 ** 4 % 65537  hash(n)  hash((n, 1))  n is 3  n is 4  n is x.shape[-1]
n == 3.0  n in (3, 6)  n in {4: 1, 5: 2}  {3: 'a', 4: 'b', 5: 'c'}.get(n)  [0] * n  range(n)
list(range(n))[-1]  'ab' * n  f'{n:>4}'  str(n)  n // 2  n % -3  -n // 2  -n % 4  ~n  n & 5  n | 8  n ^ 3
n >> 1  divmod(n, 2)  n / 7  round(n / 7, 2)  n ** -1  n ** 0.5  n.bit_length()  n.numerator
isinstance(n, int)  type(n)  bool(n - 3)  not n - 4  max(n, 4)  min(n, 4)  abs(2 - n)  sum(range(n))
math.gcd(n, 4)  math.factorial(n)  math.sqrt(n)  math.log2(n)  math.isqrt(n)  math.prod(x.shape)  float(n)
int(n / 2)  complex(n)  n == x.shape[0]  n > x.shape[0] + 1  (n, 1) == (3, 1)  sorted([n, 4, 2])  {n, 3}
{n: 1}  [1, n].index(n)  x[:, -2:]  x[..., -1:]  x[:, n // 2:]  x[:, :n - 1]  x[:, -n:]  x[:, n:]  x[:, ::2]
x[:, 1:-1]  x[:, -n + 1:n]  x[-1:]  x[:, n - 1]  x[:, [n - 1, 0]]  x[:, -1]  x.sum(1) / n  x / x.shape[1]
x.view(-1)[: n + 1]  x.reshape(n, -1)  x.view(n * 2, -1)  torch.zeros(n)  torch.arange(n)
torch.full((n,), n)  torch.ones(2, n + 1)  torch.tensor(n)  torch.tensor([n, 2 * n])  x * n  x + n ** 3
x.new_full((n,), 1.5)  torch.eye(n)  x.expand(2, n)  x.unflatten(1, (1, n))  x.repeat(1, n)
torch.linspace(0, 1, n)  x.split(2, dim=1)  x.chunk(2, dim=1)  x.narrow(1, n - 2, 2)  x.numel() * 3 ** 30
x.stride(0) + 1  x.shape  tuple(x.shape)  x.shape[-1:]  list(x.shape)  x.size()  len(x)  x.shape == (2, 3)
x.shape.numel()  x.dim() + n  repr(x.shape)  n.__class__  functools.reduce(operator.mul, x.shape)
list(map(str, x.shape))  operator.index(n)  '%d' % n  n.to_bytes(2, 'big')  chr(n + 60)  LOG[:n]
([1, 2, 3, 4, 5, 6])[n - 1]  n and 'yes'  n - 3 or 'no'  x if n > 3 else -x  1 / (n - 4)
[i for i in range(n) if i]
""")

STATEMENTS = paragraphs("""
h = 7
for i in range(50):
    h = h * 31 + n
r = h

h = 1
while h < 2 ** 70:
    h *= n + 1
r = h

r = []
for row in x.unbind(1):
    r.append(row * n)

a, b = x.shape
r = [b, a, a * b ** 20]

match n:
    case 3: r = 'three'
    case 4 | 5: r = 'more'
    case _: r = n * 2 ** 61

r = 0
if n * n * n * n * 2 ** 58 > 10:
    r = 1

try:
    r = 1 / (n - 4)
except ZeroDivisionError as e:
    r = e.args

OUT['n'] = n
r = 1

LOG.append(n * 2 ** 62)
r = 1

BOX.held = x[:, -2:]
r = BOX.held.shape[1]
""")


def all_texts() -> list[str]:
    return [f"n = x.shape[-1]\n{text}" for text in (*(f"r = {text}" for text in EXPRESSIONS), *STATEMENTS)]
