"""Readers by instruction: operators, comparisons, subscripts, unpacking, iteration, attributes, writes.

«D» is the value that is read, «X» a tensor of shape (2, 3), D2 a global that was made as the value was; the
answer is `r`. OUT, LOG and BOX are a dict, a list and an instance that programs write to.
"""

from __future__ import annotations

from mutation_texts import paragraphs, texts

BINARY = ("+", "-", "*", "@", "/", "//", "%", "**", "<<", ">>", "&", "|", "^")
COMPARE = ("==", "!=", "<", "<=", ">", ">=")
OPERANDS = (
    "2", "2.0", "'a'", "[1, 2]", "(1,)", "{1, 2}", "{'a': 1}", "«D»", "«X»", "b'a'", "[[1, 2], [3, 4]]",
)  # fmt: skip

# Expressions, separated by two spaces or a new line.
EXPRESSIONS = texts("""
«D» * 4611686018427387904  «D» + 9223372036854775807  «D» * «D» * «D» * «D»
(«D» * 31 + 7) * 1000003 % 65537
(«D» << 40) * («D» << 40)  «D» - 9223372036854775807 - 5  «D» ** 9 > 10  («D» * 3037000500) // 7
-«D» * 2 ** 62
«X» * («D» % 7)  «D»(1)  «D»(1, k=3)  next(«D»)  next(«D», None)  «D» is 1  «D» is True  hash(«D») * 31 % 1000
-«D»  +«D»  ~«D»  not «D»  «D» if «D» else 1  «D» and 1  «D» or 1  bool(«D») == True  1 in «D»  'a' in «D»
2.5 in «D»  None in «D»  [1, 2] in «D»  (1, 2) in «D»  True in «D»  Item(1) in «D»  -0.0 in «D»  1 not in «D»
'a' not in «D»  «D» in [1, 2.5, 'ab']  «D» in (1, 'ab')  «D» in {'ab': 1, 1: 2}  «D» in {1, 'ab'}
«D» in 'abab'  «D»[0]  «D»[1]  «D»[-1]  «D»['a']  «D»['v']  «D»[1:]  «D»[:2]  «D»[::-1]  «D»[::2]  «D»[0][0]
«D»['a'][0]  «D»[0][1]  «D»[...]  «X»[«D»]  «X»[:, «D»]  «X»[«D», 0]  «X»[..., «D»]  «X»[«D»[0]]  «X»[0, «D»]
«X»[None, «D»]  (lambda *a, **k: [len(a), a, k])(*«D»)  (lambda *a, **k: [len(a), a, k])(**«D»)  max(*«D»)
dict(**«D»)  (lambda a=0, v=0, b=0, *, w=1: [a, b, v])(**«D»)
print(*«D», end='', file=None) if False else [*«D», 1]  [1, *«D»]  (1, *«D»)  {1, *«D»}  {**«D», 'z': 1}
{'z': 1, **«D»}  [«D», «D»]  {'k': «D»}  {«D»: 1}  {«D»}  («D»,)  {1: «D», 2: «D»}  f'{«D»}'  f'{«D»!r}'
f'{«D»!s:>12}'  f'{«D»:>8}'  f'{«D»:.3}'  f'{«D»:{3}}'  f'{1:{«D»}}'  f'{«D»!a}'  f'{«D»:,}'  f'{«D»=}'
'%s' % («D»,)  '%r %d' % («D», 1)  '%(a)s' % «D»  '%d' % «D»  '{0} {0!r}'.format(«D»)  '{0[0]}'.format(«D»)
'{0.v}'.format(«D»)  '{a}'.format(**«D»)  '{a}'.format_map(«D»)  '{:{}}'.format('q', «D»)  [i for i in «D»]
[j for i in «D» for j in i]  {i for i in «D»}  {i: 1 for i in «D»}  [i for i in «D» if i]
list(i for i in «D»)  sum(1 for i in «D» if i)  [i.v for i in «D»]  [i.kind for i in «D»]
[len(i) for i in «D»]  {k: v for k, v in «D».items()}  [k for k in «D»]  [i[0] for i in «D»]
[i is «D» for i in «D»]  «D».v  «D».a  «D».kind  «D».rate  «D».table  «D».n  «D».first  «D».real
«D».__class__  «D».__dict__  «D».__name__  «D».__qualname__  «D».__doc__  «D».__module__  «D».__defaults__
«D».__kwdefaults__  «D».__code__.co_name  «D».__self__  «D».__func__  «D».args  «D».keywords  «D».func
«D».maps  «D».data  «D».default_factory  «D».maxlen  «D».start  «D».stop  «D».string  «D».pattern  «D».name
«D».value  «D».__mro__  «D».__bases__  «D».seen  «D».anything  «D».numerator  «D».itemsize  «D».__self__.v
«D».v.v  «D».v[0]  «D».get()  «D».read()  «D».made()  «D».plain()  «D».v.get()  «D».twice()  «D».()  «D».(1)
«D».__code__.co_varnames  «D».__code__.co_consts  type(«D»).__bases__  next(zip(«D», «D»))
[p for p in enumerate(«D»)]  {«D»: «D»}  next(iter({«D»: 1}))  vars(«D»)
«D».most_common()  «D».new_child()  type(«D»)  type(«D»).__name__  type(«D»).__qualname__
«D».__class__.__name__  type(«D»).kind  type(«D»).__mro__  [c.__name__ for c in type(«D»).__mro__]
repr(type(«D»))  «D» is None  «D» is «D»  «D» is not None  «D» is D2  [«D»] == [D2]  «D» == D2  «D» != D2
D2 in [«D»]  [i for i in [1, 2.5, 'ab'] if i == «D»]  («D», 1) == (D2, 1)  {'a': «D»} == {'a': D2}
[[«D»]] == [[D2]]  («D»,) < (D2,)  [«D»] < [D2]  [«D»].index(D2)  [«D», D2].count(D2)  (D2, «D»).count(«D»)
D2 in collections.deque([«D»])  max(«D», D2)  sorted([«D», D2])  min([D2, «D»])  {«D»: 1}.get(D2)
(lambda: «D»)()  [*map(lambda i: i, «D»)]  staticmethod(«D»).__name__  property(«D»).__doc__
classmethod(«D»).__qualname__
""")

# Statements, separated by empty lines.
STATEMENTS = paragraphs("""
r = «X».clone()
r[«D»] = 1

r = «X».clone()
r[:, «D»] = 1

r = «X».clone()
r[0] = «D»

r = «X».clone()
r[:] = «D»

r = «X».clone()
r[0, :] = «D»

r = «X».clone()
r[«D»] = «X»[0]

r = «X».clone()
r[:, 0] = «D»

r = [0, 1, 2, 3]
r[0] = «D»

r = [0, 1, 2, 3]
r[1:2] = «D»

r = [0, 1, 2, 3]
r[«D»] = 5

r = [0, 1, 2, 3]
r[::2] = «D»

r = {'a': 0}
r['a'] = «D»

r = {'a': 0}
r[«D»] = 1

r = [0, 1, 2]
del r[«D»]

r = {1: 2, 'ab': 3}
del r[«D»]

a, b = «D»
r = [b, a]

a, b, c = «D»
r = [c, a]

a, *b = «D»
r = [b, a]

*a, b = «D»
r = [b, a]

(a, b), c = «D», 1
r = [a, b]

[(a, b), *c] = «D»
r = [a, b, c]

r = []
for i in «D»:
    r.append(i)

r = []
for i in «D»:
    for j in i:
        r.append(j)

r = 0
for i, j in «D»:
    r = [r, j]

r = 0
for i in «D»:
    if i:
        r += 1
    else:
        break
else:
    r = -1

r = []
for k, v in «D».items():
    r += [k, v]

r = []
for k in «D».values():
    r.append(k)

r = 0
with «D» as a:
    r = a

with contextlib.suppress(KeyError):
    r = «D»['nothing']
r = 5

r = 0
with contextlib.nullcontext(«D») as a:
    r = a

match «D»:
    case [a, b]: r = [b, a]
    case [a, *b]: r = b
    case {'a': a}: r = a
    case None: r = 'none'
    case 1 | 2: r = 'few'
    case str(): r = 'str'
    case _: r = 'other'

match «D»:
    case {'a': [a, *_], **rest}: r = [a, rest]
    case {1: a}: r = a
    case [[a, *_], *_]: r = a
    case _: r = 0

match «D»:
    case Item(v=a): r = a
    case Record(a, n): r = [n, a]
    case Pair(a, b): r = [b, a]
    case types.SimpleNamespace(v=a): r = a
    case int(a): r = a
    case float(): r = 'float'
    case _: r = 0

match «D»:
    case a if a: r = 'true'
    case _: r = 'false'

try:
    r = «D»['nothing']
except KeyError as e:
    r = e.args
except (TypeError, IndexError, AttributeError) as e:
    r = type(e).__name__

try:
    raise ValueError(«D»)
except ValueError as e:
    r = e.args

try:
    r = «D».nothing
except AttributeError as e:
    r = 'absent'

assert «D»
r = 1

r = 1
while «D» and r < 4:
    r += 1

class Local(«D»):
    pass
r = [c.__name__ for c in Local.__mro__]

class Local:
    held = «D»
r = Local.held

def local(a=«D»):
    return a
r = local()

def local():
    yield from «D»
r = list(local())

global WRITTEN
WRITTEN = «D»
r = WRITTEN

OUT['k'] = «D»
r = len(OUT)

OUT['k'] = [«D»]
r = 1

OUT.update(k=«D»)
r = 1

LOG.append(«D»)
r = 1

LOG[:] = «D»
r = 1

LOG.extend(«D»)
r = 1

BOX.held = «D»
r = 1

BOX.held = [i for i in «D»]
r = 1

list(map(LOG.append, [«X» + 1]))
r = 1

LOG[:] = []
list(map(LOG.append, «D»))
r = len(LOG)

LOG[:] = [«X» + 1, «D»]
r = 1

collections.deque(map(LOG.append, «D»), maxlen=0)
r = 1

LOG[:] = [0]
operator.setitem(LOG, 0, «D»)
r = 1

LOG[:] = [1]
r = operator.iadd(LOG, [«D»])

LOG[:] = [1]
r = operator.iconcat(LOG, [«X»])

LOG[:] = [1, 2]
operator.delitem(LOG, 0)
r = «D»

LOG[:] = [2, 1]
heapq.heapify(LOG)
r = LOG[0]

LOG[:] = [3, 1, 2]
LOG.sort(key=lambda i: «D»)
r = LOG

OUT['k'] = 1
r = reversed(list(map(OUT.get, ['k'])))

LOG[:] = [1, 2, 3]
r = list(iter(LOG.pop, 1))

LOG[:] = [1, 2]
r = list(filter(LOG.remove, [1]))

LOG[:] = [1, 2]
r = sorted([2, 1], key=LOG.index)

LOG[:] = []
r = functools.reduce(operator.iadd, [[«D»]], LOG)
""")


def all_texts() -> list[str]:
    made = [f"r = «D» {op} {other}" for op in BINARY + COMPARE for other in OPERANDS]
    made += [f"r = {other} {op} «D»" for op in BINARY for other in OPERANDS[:6]]
    made += [f"a = «D»\na {op}= {other}\nr = a" for op in BINARY for other in OPERANDS[:9]]
    return [*made, *(f"r = {text}" for text in EXPRESSIONS), *STATEMENTS]
