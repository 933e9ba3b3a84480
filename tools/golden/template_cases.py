"""Small templates for tools/golden/templates.py; jinja2 says what they print."""

CASE_CONTEXT = {
    "t": True, "f": False, "n": None, "i": 7, "neg": -7, "z": 0, "x": 2.5, "big": 9007199254740993, "huge": 18446744073709551615, "tiny": 1e-7, "large": 1e22,
    "s": "Hello World", "u": "\u00c4pfel \u4f60\u597d \U0001f600", "e": "", "q": "it's \"q\"", "ml": "one\ntwo\r\n\nthree\n", "pad": "  x y  ", "html": "<a & 'b'>",
    "l": [3, 1, 2], "ls": ["b", "A", "c", "a"], "le": [], "mix": [1, "a", None, 2.0, True, [1], {"k": 1}],
    "d": {"b": 1, "a": "two", "C": [1, 2], "items": "shadow"}, "de": {}, "nested": {"a": {"b": [{"c": "deep"}]}},
    "us": [{"n": "ann", "a": 30, "g": "x"}, {"n": "Bob", "a": 25, "g": "y"}, {"n": "cid", "a": 30, "g": "x"}, {"n": "dee", "g": "y"}],
}

# Expressions, printed as {{ ... }}.
EXPRESSIONS = r"""
1 + 2 * 3 | 7 // 2 | -7 // 2 | 7 % 3 | -7 % 3 | 7 % -3 | 7 / 2 | 6 / 2 | 2 ** 10 | 2 ** -1 | 2 ** 3 ** 2 | -2 ** 2 | 1.5 + 1 | 7.5 // 2 | -7.5 // 2 | -7.5 % 2 | 7.5 % -2
1e3 | 1.0 | 1e16 | 1e15 | 1e-5 | 0.0001 | 0.1 + 0.2 | 1_000 | 0x1f | 0b101 | 0o17 | 1_0.5_0 | 3.0 * 2 | 1 / 3 | 1 / 0 | 1 // 0 | 1 % 0 | 1.0 / 0 | -0.0 | 1e400
i + x | i * 'ab' | 'ab' * 3 | 'ab' * -1 | [1] * 3 | (1,) * 2 | 'a' + 'b' | 'a' ~ 1 ~ none ~ true ~ 2.0 | 'a' + 1 | 1 + 'a' | [1] + [2] | [1] + (2,) | (1,) + (2,) | none + 1 | t + t | t * 3 | -t | +i | -s | not i | not not i
9223372036854775807 | -9223372036854775807 - 1 | big + 1 | huge | [huge] | huge == huge | large | tiny | large == 1e22 | 5 == 5.0 | 1 == true | '1' == 1 | none == none | [1, 2] == [1, 2] | (1, 2) == [1, 2] | d == d | {'a': 1} == {'a': 1.0}
1 < 2 | 1 < 2 < 3 | 1 < 3 < 2 | 1 < 2 > 1 | 'a' < 'b' | 'a' < 1 | [1, 2] < [1, 3] | none < 1 | 2 >= 2 | 2 <= 1 | 1 != 2 | 1.5 <= 1.5 | 3 > 2 >= 2 | (1, 2) < (1, 2, 0) | t < 2 | nope < 1 | 1 < nope
1 in l | 9 in l | 'ell' in s | 'x' not in s | 'a' in d | 'z' in d | 1 in s | none in mix | 2 in mix | 1 in none | [1] in mix | [1] in d | 1 in range(3) | 3 in range(3) | 'a' in nope | nope in l | nope in s | 'A' in ls | 4 in range(0, 10, 2) | 'b' in d.keys() | 1 in d.values()
t and f | t or f | i and s | z or s | e or n | n and i | not t | not e | t and not f | f or (t and i) | z and 1 / 0 | i or 1 / 0 | (1 if t else 2) | (1 if f else 2) | (1 if f) | 1 if t | 1 if f | 'a' if t else 'b' if f else 'c' | (1 if nope else 2) | (1 if f).x
t | f | n | i | x | s | u | e | l | ls | mix | d | de | nested | (1,) | () | (1, 2) | [] | {} | {'a': [1, (2, 3)], 1: none, none: 2.5} | q | [q] | [u, 'a\nb\t\\'] | ['\x00\x7f\u00a0\u200b'] | ['it\'s'] | ["\""] | true | True | none | None | [none, true, 1.0]
nope | nope.x | nope['x'] | nope() | nope + 1 | nope ~ 'a' | nope == nope2 | nope is defined | nope is undefined | [nope] | nope | string | (nope | length) | nope | list | (nope | default('d')) | nope.x.y | d.nope | d.nope.x | d['nope'] | s.nope | s.nope.x | i.nope.x | n.x | l.nope.y | -nope | nope[1:2] | 'a' % nope | nope % 1
s[0] | s[-1] | s[99] | s[1:4] | s[:-1] | s[::-1] | s[::2] | s[-3:] | s[5:2] | u[0] | u[1:] | u[::-1] | u[-1] | l[0] | l[-1] | l[5] | l[1:] | l[::-1] | l[:1] | l[5:] | l[-2:-1] | l['a'] | l[none] | l[true] | l[0:2:0] | (1, 2, 3)[1:] | range(10)[2:8:2] | range(5)[1] | l[1.0] | s['upper']() | n[0] | i[0] | d[0] | l[0,1] | {}[1:2] | none[1:] | 5[:2] | true[::2] | 2.5[1:] | (none[:3] is defined) | [{}[:1]] | l['x':]
d.a | d['a'] | d.b | d.items | d['items'] | nested.a.b[0].c | nested['a']['b'][0]['c'] | nested.a.b.0.c | d.C.1 | d.keys() | d.values() | de.items() | d.items() | d.get('a') | d.get('z') | d.get('z', 5) | d.get('z', default=5) | d.copy() | d.update({'x': 1}) | d.pop('a') | d.clear | l.append(4) | l.count(1) | l.index(2) | l.index(9) | l.copy() | l.pop() | l.sort | mix.count(1) | (1, 2).index(2) | d.__class__ | d.__class__.x | s.__len__() | s._x | s.format | l.__add__([1]) is defined
s | upper | s | lower | s | title | s | capitalize | 'hELLO wORLD' | capitalize | "it's a-test (of) [this]" | title | 'ǆ ß ŉ' | upper | 'ÀÉ İ ΑΣ' | lower | 'straße ǆ' | title | u | upper | 'they\'re' | title | 5 | upper | n | upper | s | length | u | length | l | length | d | length | i | length | n | length | range(4) | length | s | count
pad | trim | ('xxhixx' | trim('x')) | 'xyhiyx' | trim('xy') | trim | '\u00a0 a \u3000' | trim | (5 | trim) | 'a,b' | replace(',', ';') | 'aaa' | replace('a', 'b', 2) | 'abc' | replace('', '-') | 'aXbX' | replace('X', '') | 5 | replace('5', '6') | 'aaa' | replace('a', 'b', count=1) | 'abc' | replace('b') | html | escape | html | e | html | safe | (html | safe) + '<' | '<' + (html | safe) | [html | safe] | (html | safe) ~ '<' | html | forceescape | (html | safe | upper) + '<'
l | join | l | join(', ') | ls | join('-') | mix | join('|') | us | join(',', attribute='n') | s | join('.') | d | join(',') | n | join | e | join('x') | [1, [2]] | join(0) | ((1, 2) | join) | us | map(attribute='a') | join(',') | us | map(attribute='zz') | list | us | map(attribute='a', default=0) | join(',') | ls | map('upper') | list | ls | map('replace', 'a', 'z') | list | l | map('nope') | list | l | map | list | le | map('nope') | list | us | map(attribute='n.0') | list
n | default('x') | n | default('x', true) | e | default('x') | e | default('x', true) | e | d('y', boolean=True) | nope | d | z | default(5, true) | nope | default | d.nope | default('k') | d.nope.x | default('k') | (nope | default(n)) is none | nope.a | default(1)
l | first | l | last | le | first | le | last | s | first | s | last | d | first | e | first | (l | map('string') | first) | (le | first) is defined | l | list | s | list | d | list | n | list | range(3) | list | d.items() | list | (d | items | list) | nope | items | list | l | items | list | de | items | list | ((1, 2), (3, 4)) | list
l | sort | ls | sort | ls | sort(case_sensitive=true) | l | sort(reverse=true) | us | sort(attribute='n') | map(attribute='n') | list | mix | sort | us | selectattr('a') | sort(attribute='a,n', reverse=true) | map(attribute='n') | join | d | sort | ls | unique | list | ls | unique(true) | list | [1, 1.0, true, 2] | unique | list | mix | unique | list | us | unique(attribute='g') | map(attribute='n') | list | l | reverse | list | s | reverse | l | reverse | first | d | reverse | list | (l | reverse)[0] | (l | map('abs') | reverse)[0]
l | sum | le | sum | us | selectattr('a') | sum(attribute='a') | l | sum(start=10) | ls | sum | [[1], [2]] | sum(start=[]) | l | min | l | max | ls | min | ls | max | le | max | ls | max(case_sensitive=true) | us | selectattr('a') | max(attribute='a') | mix | max | [1.5, 2] | max
us | selectattr('a') | map(attribute='n') | list | us | selectattr('a', 'defined') | list | length | us | selectattr('a', 'equalto', 30) | map(attribute='n') | list | us | selectattr('g', '==', 'x') | list | length | us | rejectattr('g', 'eq', 'x') | map(attribute='n') | list | us | rejectattr('a') | list | us | selectattr('a', 'gt', 26) | list | l | select('odd') | list | l | reject('odd') | list | mix | select | list | mix | select('string') | list | mix | reject('none') | list | l | select('divisibleby', 3) | list | l | select('nope') | list | us | selectattr | list | l | select('in', [1, 2]) | list | ls | reject('in', 'abc') | list | us | selectattr('a', 'nope') | list
(l | select) is iterable | (l | select) is sequence | (l | select) | length | (l | select)[0] | l | select | first | '1' if l | reject else '0' | us | groupby('g') | us | groupby('g') | first | us | groupby('a', default=0) | map(attribute='grouper') | list | (us | groupby('g') | first).list | length | us | groupby('n') | map('first') | list | d | dictsort | d | dictsort(true) | d | dictsort(by='value') | {'b': 1, 'a': 2} | dictsort(by='value', reverse=true) | l | dictsort | nope | dictsort | d | dictsort(by='x')
[1, 2, 3, 4, 5] | batch(2) | list | [1, 2, 3, 4, 5] | batch(2, 'x') | list | range(7) | slice(3) | list | range(7) | slice(3, 'x') | list | [] | batch(3) | list | [1] | slice(0) | list
'42' | int | '42.9' | int | 'x' | int | 'x' | int(5) | x | int | n | int | t | int | ' 7 ' | int | '0x1f' | int(0, 16) | '0x1f' | int | 'ff' | int(base=16) | '1_000' | int | -3.9 | int | nope | int | e | int | [] | int | '12' | int + 1 | '1e3' | int | '1.5' | float | 'x' | float | 'x' | float(2.5) | i | float | '1e3' | float | 'inf' | float | ' .5 ' | float | '5.' | float | n | float | '-1_0.5' | float | '1__0' | float
2.5 | round | 3.5 | round | 2.675 | round(2) | 1234.5 | round(-2) | 42 | round | 42.55 | round(1) | 42.55 | round(1, 'floor') | 42.51 | round(1, 'ceil') | 7 | round(-1) | 2.5 | round | int | -2.5 | round | 'a' | round | 0.5 | round(0, 'ceil') | 1.005 | round(2) | -7 | abs | 2.5 | abs | 'a' | abs | 3 | string ~ 'x' | [1] | string | 1.0 | string | none | string | 1000000 | filesizeformat | 999 | filesizeformat | 1 | filesizeformat | 2048 | filesizeformat(true)
d | tojson | mix | tojson | q | tojson | u | tojson | u | tojson(ensure_ascii=true) | html | tojson | x | tojson | large | tojson | tiny | tojson | n | tojson | t | tojson | d | tojson(indent=2) | mix | tojson(indent=4) | [] | tojson(indent=2) | {} | tojson(indent=2) | [[], {}] | tojson(indent=1) | d | tojson(sort_keys=true) | d | tojson(separators=(',', ':')) | d | tojson(indent=2, separators=(',', ': ')) | {1: 2, none: 3, true: 4, 2.5: 5} | tojson | (1, 2) | tojson | nope | tojson | range(3) | tojson | '\x00\x1f\x7f\u2028\n' | tojson | {'a': nope} | tojson | {(1, 2): 3} | tojson | huge | tojson | d.items() | tojson | d | tojson(indent='\t') | d | tojson(2) | {'é': 'é'} | tojson | 1e16 | tojson | 123456789.0 | tojson | (html | safe) | tojson | d | tojson(indent=none) | {'b': 1, 'a': {'d': 1, 'c': 2}} | tojson(sort_keys=true, indent=1) | {1: 2, 'a': 3} | tojson(sort_keys=true)
ml | indent | ml | indent(2) | ml | indent(2, true) | ml | indent(2, blank=true) | ml | indent('> ', true, true) | '' | indent | 'a' | indent(first=true) | 5 | indent | 'a\n' | indent | 'a\n\n b' | indent(width=1)
s | truncate(8) | s | truncate(8, true) | s | truncate(3, true, '..') | s | truncate(5, false, '', 0) | s | wordcount | 'a-b c_d é' | wordcount | s | center(21) | 'abc' | center(8) | 'abcd' | center(7) | s | wordcount + 1 | 'a b&c=d/é' | urlencode | {'a b': 1, 'c': 'd&'} | urlencode | '%s-%d' | format('a', 3) | '%(k)s' | format(k=1) | s | attr('upper') | d | attr('a') | d | attr('get')('a') | s | nofilter | s | string | title
'%s' % 'a' | '%s %s' % ('a', 1) | '%d' % 3.7 | '%05d' % 42 | '%-5d|' % 42 | '%+d' % 5 | '%x %X %o' % (255, 255, 8) | '%#x' % 255 | '%.2f' % 3.14159 | '%8.3f|' % x | '%e' % 12345.678 | '%g %g' % (0.0001, 1e20) | '%r' % 'a' | '%s' % none | '%%' % () | '%s' % [1, 2] | '%s' % (1, 2) | '%s %s' % 'a' | '%d' % 'a' | 'a' % 1 | '%(a)s' % {'a': 1} | '%(z)s' % {'a': 1} | '%c' % 65 | '%5s|%-5s|' % ('a', 'b') | '%.2s' % 'abc' | '%s' % u | '%i' % true | '%q' % 1 | '%' % 1
'{}'.format(1) | '{} {}'.format('a', 2) | '{1} {0}'.format('a', 'b') | '{a} {b}'.format(a=1, b=2) | '{0[k]} {1.n}'.format({'k': 5}, {'n': 6}) | '{:5}|{:<5}|{:>5}|{:^5}|'.format('a', 'b', 'c', 'd') | '{:05d} {:+} {:,}'.format(42, 5, 1234567) | '{:.2f} {:8.3f} {:e} {:g} {:%}'.format(1.005, 2.5, 1234.5, 0.5, 0.25) | '{!r} {!s}'.format('a', 'b') | '{{}} {}'.format(1) | '{'.format() | '}'.format() | '{}'.format() | '{x}'.format() | '{:x} {:b} {:o} {:c} {:#x}'.format(255, 5, 8, 65, 255) | '{:*^9}'.format('mid') | '{:{w}}|'.format('a', w=5) | '{0}{0}'.format('z') | '{:d}'.format('a') | '{:s}'.format(1) | '{}'.format(none) | '{:5}'.format(none) | '{:10}|{:<10}|'.format(1, 2) | '{:_}'.format(1234567) | '{:.3}'.format('abcdef') | '{:.3}'.format(3.14159) | '{}'.format([1, 'a']) | '{a}'.format_map({'a': 3}) | '{:06.2f}'.format(-1.5) | '{: d}'.format(3) | '{:é>4}'.format('x') | '{:n}'.format(5)
s.upper() | s.lower() | s.title() | "they're bill's".title() | s.capitalize() | s.swapcase() | s.strip('Hd') | pad.strip() | pad.lstrip() ~ '|' | pad.rstrip() ~ '|' | 'abc'.lstrip('ab') | 'éaé'.strip('é') | s.split() | s.split('o') | s.split('o', 1) | s.split('o')[0] | ' a  b '.split() | ' a  b '.split(' ') | ' a b c '.split(none, 1) | s.rsplit('o', 1) | ' a b c '.rsplit(none, 1) | ' a b c '.rsplit() | s.split('') | ''.split() | ''.split(',') | 'a,b,c'.split(',', maxsplit=1) | ml.splitlines() | ml.splitlines(true) | s.split(1) | 'a\u2028b\x0bc'.splitlines() | 'a'.split('a')
s.startswith('He') | s.endswith('ld') | s.startswith(('x', 'H')) | s.startswith('ello', 1) | s.endswith('lo', 0, 5) | s.startswith(1) | s.startswith('') | s.find('o') | s.find('o', 5) | s.find('zz') | s.rfind('o') | s.index('zz') | s.index('W') | u.find('好') | s.count('l') | s.count('') | s.count('l', 4) | s.replace('o', '0') | s.replace('o', '0', 1) | '-'.join(ls) | ''.join(['a', 1]) | ','.join('abc') | s.find('', 20) | s.count('', 11) | s.find('d', -1)
'5'.isdigit() | '5a'.isdigit() | '²'.isdigit() | '²'.isdecimal() | '½'.isnumeric() | 'ab'.isalpha() | 'é'.isalpha() | 'a1'.isalnum() | ''.isalpha() | ' '.isspace() | 'aB'.islower() | 'AB1'.isupper() | 'Ab Cd'.istitle() | 'é'.isascii() | 'a_1'.isidentifier() | '1a'.isidentifier() | 'a'.ljust(3) ~ '|' | 'a'.rjust(3, '*') | 'a'.center(4, '.') | 'ab'.center(5) ~ '|' | '7'.zfill(3) | '-7'.zfill(4) | 'a-b-c'.partition('-') | 'a-b-c'.rpartition('-') | 'abc'.partition('x') | 'abc'.rpartition('x') | 'prefix'.removeprefix('pre') | 'suffix'.removesuffix('fix') | 'a\tb'.expandtabs(4) | 'abc'.removeprefix('x') | 'abc'.nomethod() | 'abc'.upper(1) | s.upper | 'é'.encode
i is number | x is number | t is number | s is number | i is integer | t is integer | x is float | i is float | s is string | n is none | n is not none | d is mapping | l is mapping | l is sequence | s is sequence | d is sequence | i is sequence | l is iterable | i is iterable | s is iterable | d is iterable | n is iterable | t is boolean | i is boolean | t is true | 1 is true | f is false | z is false | i is odd | i is even | 8 is divisibleby 4 | 8 is divisibleby(3) | s is odd | x is odd | i is defined | nope is not defined | nope is iterable | nope is sequence | nope is string | nope is mapping | nope is none | nope is number | range(3) is sequence | d.items() is iterable | d.items() is sequence
'a' is in 'abc' | 1 is in l | 1 is not in l | i is eq 7 | i is equalto 7 | i is ne 7 | i is lt 8 | i is ge 7 | i is gt(3) | i is lessthan 3 | i is greaterthan 3 | i is le 7 | 's' is lower | 'S' is upper | s is lower | 5 is lower | n is sameas none | t is sameas true | 1 is sameas true | l is sameas l | [] is sameas [] | raise_exception is callable | s is callable | nope is callable | 'upper' is filter | 'zz' is filter | 'odd' is test | s is escaped | (s | safe) is escaped | i is nope | i is defined and t | not i is defined | i is odd and z is even | (i is odd) == true | i == 7 is true | 'x' is eq 'x' or f | not s is none | i is == 7
range(3) | range(1, 4) | range(5, 0, -2) | range(0) | range(3) | list | range(1, 10, 3) | list | range() | range('a') | range(0, 5, 0) | range(100000) | length | range(100001) | range(-9223372036854775807, 9223372036854775807) | dict(a=1, b=2) | dict({'a': 1}, b=2) | dict([['a', 1]]) | dict(1) | namespace(a=1) | namespace(a=1).a | namespace().x | namespace({'k': 2}).k | raise_exception('boom') | raise_exception() | raise_exception(5) | cycler('a', 'b').next() | cycler() | joiner() is callable | cycler('a', 'b').current | strftime_now('%Y-%m-%d %H:%M:%S') | strftime_now('%d %b %Y|%B %e|%A %a|%j|%y|%I %p|%-d|%-m|%U|%W|%u|%w|%%|%F %T|%c|%x|%X|%D|%R|%h|%k|%l|%f|%C|%P|%r|%n|%t|%_d|%0e')
{'a': 1, 'a': 2} | {[1]: 2} | {'a': 1}.a | {'x': {'y': 1}}.x.y | [1, 2,] | [[1, 2], [3]] [0][1] | (1 + 2) * 3 | ((((1)))) | 'a' 'b' "c" | 'a\
b' | 'a\x41\u00e9\101\q\\' | '\é' | "\n" ~ '|' | s.upper().lower().title() | l[l[1]] | (l | first) + 1 | -i | abs | -(i | abs) | 2 + l | length | i.real | x.is_integer() | 4.0.is_integer() | i.bit_length() | t.real | i.numerator | 1.e | 1.foo | 'abc'.0 | [1].0 | i is defined | string | none is none | not none | (none) | [] is defined | {} is mapping | () is sequence | 1 is integer | 007
s[i] | s[i:] | s[:i] ~ '|' | [s, i][1] | {'k': s}['k'][0] | (s, i)[0] | d['C'][0] | d.C[-1] | us[0].n | us[0]['n'] | us[-1].a | us[-1].a is defined | us[9].n | us[1:][0].n | us | length > 3 | us | map(attribute='n') | join(', ') | upper | us[0].keys() | list | us[0] | length | us | first | us[0].items() | list | first | last
html | striptags | '<!-- <b> --> a <i>b</i>  c\n d' | striptags | 'a<!-->b-->c' | striptags | 'a<!--->b' | striptags | '<!<!-- -->-- x --> y' | striptags | 'a <!-- b' | striptags | 'a < b > c' | striptags | 'a < b' | striptags | (html | safe | striptags) | 5 | striptags | nope | striptags | n | striptags | u | striptags | '<p>x</p>' | safe | striptags | upper
'&lt;&amp;&gt;&quot;&#39;&#x27;&#X41;&#65' | striptags | '&copy &copycat &notit; &notin; &nope; & &; &#; &#x; &#xg' | striptags | '&#0;&#128;&#x81;&#159;&#13;|&#11;|&#1;|&#xfdd0;|&#xffff;|&#xd800;|&#1114112;|&#99999999999999;' | striptags | '&nGt;&acE;&CounterClockwiseContourIntegral;&ThisNameIsLongerThanThirtyTwoCharacters;' | striptags | '&am&amp&ampx;&AMP;&ltx&Aacutee' | striptags | '&eacute;&#233;&Eacute' | striptags | '\u00a0&nbsp;a&nbsp;\u3000b' | striptags | '&é;&lté' | striptags
'the quick brown fox jumps over the lazy dog' | wordwrap(10) | s | wordwrap(5) | s | wordwrap(3) | s | wordwrap(3, false) | s | wordwrap(1) | u | wordwrap(2) | ml | wordwrap(4) | 'well-known e-mail -- a dash--like so---and x-y-z self-made-man' | wordwrap(6) | 'well-known e-mail -- a dash--like so---and x-y-z self-made-man' | wordwrap(12) | 'well-known self-made' | wordwrap(6, true, '|', false) | 'well-known self-made' | wordwrap(6, true, '|', 1) | 'well-known self-made' | wordwrap(3, false, '|', 0) | 'aaaa-bbbb-cccc' | wordwrap(7) | '----------' | wordwrap(4) | '--aaaaaaaa' | wordwrap(4) | 'a--b' | wordwrap(2) | '"a"--b.' | wordwrap(3) | 'abcdefghij klm' | wordwrap(4) | 'ab cdefghij' | wordwrap(4) | 'abc defghij' | wordwrap(3) | '   lead  and  trail   ' | wordwrap(6) | '' | wordwrap | '\n\n' | wordwrap(5) | 'a\u00a0b \u2003 c' | wordwrap(2) | 'a\tb c' | wordwrap(3) | 'a b' | wordwrap(0) | '' | wordwrap(0) | 'a b' | wordwrap(width=1, wrapstring='/') | 5 | wordwrap | nope | wordwrap | 'a b' | wordwrap('x') | 'a b c' | wordwrap(wrapstring=none, width=2) | 'été-là ça-va ab1-cd a1b-cde 12-34 x_y-z_w' | wordwrap(4) | 'https://example.org/a-very-long-path/with-hyphens?and=some&more' | wordwrap(20) | 'a b c d e f' | wordwrap(3) | '    ' | wordwrap(2) | 'aaaa    bbbb' | wordwrap(2)
{'a': 1, 'b': none, 'c': nope, 'd': '<"x">'} | xmlattr | {'a': 1} | xmlattr(false) | {} | xmlattr | {'a b': 1} | xmlattr | {'a>': 1} | xmlattr | {'a/': 1} | xmlattr | {'a=': 1} | xmlattr | {1: 2} | xmlattr | {'a<': html | safe, 'b': html} | xmlattr | nope | xmlattr | 5 | xmlattr | {'x': [1, 'a'], 'y': true} | xmlattr(autospace=false) | {'a': none} | xmlattr | {'a': 1, 'b': 2} | xmlattr | upper
d | pprint | mix | pprint | us | pprint | nested | pprint | s | pprint | n | pprint | nope | pprint | x | pprint | ([1] * 40) | pprint | ((1,) * 40) | pprint | ('abc def ' * 20) | pprint | [('abc def ' * 20)] | pprint | {'k': 'abc def ' * 20} | pprint | ('a' * 100) | pprint | ['a' * 100] | pprint | ('abc\n' * 30) | pprint | {'z': 1, 'a': {'y': [1, 2, 3], 'b': 'x' * 60}, 'm': (1,)} | pprint | {2: 'a', 1: 'b', 'x': 'c', none: 'd', 1.5: 'e'} | pprint | {2: 'a' * 30, 1: 'b' * 30, 'x': 'c' * 30} | pprint | (html | safe) | pprint | ["it's " * 30] | pprint | ('x ' * 38) | pprint | ('x ' * 39) | pprint | ('x ' * 40) | pprint | [[[[['deep ' * 12, 'er ' * 20], 1], 2], 3], 4] | pprint | (('abc def ' * 20),) | pprint | {('a', 1): 'x' * 70, ('a', 0): 'y' * 70} | pprint | range(30) | pprint | ('\u00e4\u4f60\x00 ' * 20) | pprint | ('quote\'s "x" ' * 12) | pprint | [1.0, true, none, 'x' * 75] | pprint | {'a': []} | pprint | {'a' * 70: {'b' * 20: 1, 'c': 2}} | pprint | ('a\n' ~ 'b ' * 60 ~ '\nc') | pprint | (' ' * 90) | pprint | ['\n' * 90] | pprint | us | groupby('g') | pprint | d.items() | pprint | d | pprint | length
'Straße ΑΣ ǅ ŉ ﬃ İ ı Ꭰ ꭰ \u0130' | upper | 'Straße ΑΣ ǅ ŉ ﬃ İ ı Ꭰ ꭰ'.casefold() | s.casefold() | ''.casefold() | (html | safe).casefold() | 'ΐᾳẞ'.casefold() | s.casefold(1)
'abc'.translate({97: 'x', 98: none, 99: 65}) | 'abc'.translate({}) | 'abc'.translate({97: 1.5}) | 'abc'.translate({97: 1114112}) | 'aé你'.translate({233: 'e', 20320: 'you'}) | s.translate(s.maketrans('lo', 'LO')) | s.translate(s.maketrans('l', 'L', 'o ')) | s.translate(s.maketrans({'l': '1', 111: none})) | s.maketrans('a', 'b', 'c') | s.maketrans('ab', 'c') | s.maketrans({'ab': 1}) | s.maketrans(1) | s.maketrans('a', 1) | s.translate() | 'abc'.maketrans({1.5: 2}) | (html | safe).translate({60: '['}) | 'aa'.translate({97: 'a' * 3})
"""

STATEMENTS = r"""
{% for a in l %}{{ a }},{% endfor %}
{% for a in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }};{% endfor %}
{% for a in l %}{{ loop.previtem }}<{{ a }}>{{ loop.nextitem }} {% endfor %}
{% for a in l %}{{ loop.previtem is defined }}{{ loop.nextitem is undefined }} {% endfor %}
{% for a in l %}{{ loop.cycle('x', 'y') }}{{ loop.changed(a) }}{% endfor %}
{% for a in [1, 1, 2] %}{{ loop.changed(a) }} {% endfor %}
{% for a in le %}x{% else %}empty{% endfor %}
{% for a in nope %}x{% else %}empty{% endfor %}
{% for a in n %}x{% endfor %}
{% for a in i %}x{% endfor %}
{% for k in d %}{{ k }} {% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }} {% endfor %}
{% for k, v in d | items %}{{ k }}={{ v }} {% endfor %}
{% for k, v in d|dictsort %}{{ k }} {% endfor %}
{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for a, b in [[1]] %}{% endfor %}
{% for a, b in [[1, 2, 3]] %}{% endfor %}
{% for a in l if a > 1 %}{{ a }}{{ loop.index }}{{ loop.last }}{{ loop.length }} {% endfor %}
{% for a in l if a > 9 %}x{% else %}none{% endfor %}
{% for a in l if a > 1 %}{{ loop.nextitem }}{{ a }};{% endfor %}
{% for c in 'héy' %}[{{ c }}]{% endfor %}
{% for a in l recursive %}{{ a }}{% endfor %}
{% for a in [[1, [2]], [3]] recursive %}{% if a is iterable %}({{ loop(a) }}){% else %}{{ a }}:{{ loop.depth }}{% endif %}{% endfor %}
{% for a in l %}{{ loop(l) }}{% endfor %}
{% for a in l %}{% for b in ls %}{{ loop.index }}{% endfor %}{{ loop.index }} {% endfor %}
{% for a in l %}{% set o = loop %}{% for b in [1, 2] %}{{ o.index }}.{{ loop.index }} {% endfor %}{% endfor %}
{% for a in l %}{% if a == 1 %}{% continue %}{% endif %}{{ a }}{% endfor %}
{% for a in l %}{% if a == 1 %}{% break %}{% endif %}{{ a }}{% endfor %}
{% for a in l %}{% break %}{% else %}else{% endfor %}
{% for a in l %}{% continue %}{% else %}else{% endfor %}
{% break %}
{% for a in l %}{% for b in l %}{% if b == 1 %}{% break %}{% endif %}{{ b }}{% endfor %}{{ a }} {% endfor %}
{% for a in range(3) %}{{ a }}{% endfor %}{{ a }}
{% for loop in l %}{% endfor %}
{% for a in l %}{% set loop = 1 %}{% endfor %}
{{ loop }}{{ loop is defined }}
{% for m in us %}{% if loop.first %}{{ m.n }}{% elif loop.last %}!{{ m.n }}{% else %}-{% endif %}{% endfor %}
{% for a in l | select('gt', 1) %}{{ a }}{{ loop.length }}{{ loop.last }} {% endfor %}
{% set g = l | select %}{{ g | list }}{{ g | list }}
{% set g = l | map('string') %}{{ g | first }}{{ g | list }}
{% set a = 1 %}{% for b in l %}{% set a = a + b %}{{ a }} {% endfor %}{{ a }}
{% set ns = namespace(a=1) %}{% for b in l %}{% set ns.a = ns.a + b %}{% endfor %}{{ ns.a }}
{% set ns = namespace() %}{% set ns.x = 5 %}{{ ns.x }}{{ ns.y }}{{ ns }}
{% set d2 = {} %}{% set d2.x = 1 %}
{% set nope.x = 1 %}
{% set a, b = 1, 2 %}{{ a }}{{ b }}
{% set a, b = 'xy' %}{{ a }}{{ b }}
{% set a = 1, 2 %}{{ a }}
{% set (a, b) = [3, 4] %}{{ a + b }}
{% set a %}x{{ i }}y{% endset %}{{ a }}{{ a | length }}
{% set a | upper %}x{{ i }}y{% endset %}{{ a }}
{% set a | trim | upper %}  hi {% endset %}[{{ a }}]
{% set a %}{% set b = 1 %}{{ b }}{% endset %}{{ a }}{{ b }}
{% set ns = namespace() %}{% set ns.a %}block{% endset %}{{ ns.a }}
{% if t %}{% set a = 1 %}{% endif %}{{ a }}
{% if f %}{% set s = 1 %}{% endif %}{{ s }}
{% if f %}{% set a = 1 %}{% endif %}{{ a is defined }}
{% for q2 in l %}{% if f %}{% set s = 1 %}{% endif %}{{ s }}{% endfor %}
{% for q2 in l %}{{ s }}{% set s = q2 %}{{ s }} {% endfor %}{{ s }}
{% macro m() %}{{ s }}{% endmacro %}{{ m() }}{% set s = 'late' %}{{ m() }}
{% macro m() %}{{ w }}{% endmacro %}{% set w = 'set' %}{{ m() }}
{% set w = 'a' %}{% macro m() %}{{ w }}{% set w = 'b' %}{{ w }}{% endmacro %}{{ m() }}{{ w }}
{% macro m(a, b=2, c='x') %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(1, c='z') }} {{ m() }} {{ m(b=5, a=4) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(z=2) }}
{% macro m(a) %}{{ a.x }}{% endmacro %}{{ m() }}
{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}
{% macro m(a, b=w) %}{{ a }}{{ b }}{% endmacro %}{% set w = 9 %}{{ m(1) }}
{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, a=3) }}
{% macro m(x) %}{{ x }}{{ varargs | join }}{{ kwargs.k }}{% endmacro %}{{ m(1, 2, 3, k='v') }}
{% macro m(n) %}{{ n }}{% if n > 0 %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(3) }}
{% macro m(a) %}[{{ caller() }}]{% endmacro %}{% call m(1) %}body{% endcall %}
{% macro m(l) %}{% for x in l %}{{ caller(x, loop.index) }}{% endfor %}{% endmacro %}{% call(v, k) m(l) %}{{ k }}={{ v }};{% endcall %}
{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}
{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}
{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}
{% macro m(caller) %}{{ caller }}{% endmacro %}{{ m(1) }}
{% macro m(caller=none) %}{{ caller }}{% endmacro %}{{ m(1) }}
{% macro a() %}{% macro b() %}in{% endmacro %}{{ b() }}{% endmacro %}{{ a() }}{{ b }}
{% macro m() %}{{ i }}{{ nope }}{% endmacro %}{{ m() }}{{ m.name }}
{% macro m() %}  x  {% endmacro %}[{{ m() | trim }}]
{% macro m() %}a{% endmacro %}{% set r = m() ~ m() %}{{ r }}{{ r is string }}
{% set ns = namespace() %}{% macro m() %}{% set ns.x = 7 %}{% endmacro %}{{ m() }}{{ ns.x }}
{% for a in l %}{% macro m() %}{{ a }}{% endmacro %}{{ m() }}{% endfor %}
{% for a in l %}{% set ns2 = namespace(v=a) %}{% endfor %}{{ ns2 }}
{{ m() }}{% macro m() %}x{% endmacro %}
{% macro m(a, a) %}{% endmacro %}
{% macro m(a=1, b) %}{% endmacro %}
{% macro m(f) %}{{ f(2) }}{% endmacro %}{% macro g(x) %}{{ x * 2 }}{% endmacro %}{{ m(g) }}
{{ dict(**d) }}{{ dict(*[[['a', 1]]]) }}
{% macro m(a, b, c) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(*l) }}{{ m(1, *[2, 3]) }}{{ m(**{'a': 1, 'c': 3}) }}
{% filter upper %}abc{{ i }}{% endfilter %}
{% filter trim | replace('a', 'b') %}  aaa {% endfilter %}
{% filter indent(2) %}a
b{% endfilter %}
{% filter nope %}{% endfilter %}
{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a }}
{% with %}{% set a = 1 %}{{ a }}{% endwith %}{{ a is defined }}
{% set a = 5 %}{% with a = a + 1 %}{{ a }}{% endwith %}{{ a }}
{% with a = 1, b = a %}{{ b }}{% endwith %}
{% if f %}a{% elif i %}b{% else %}c{% endif %}
{% if f %}a{% elif z %}b{% else %}c{% endif %}
{% if f %}{{ s | nofilter }}{% endif %}ok
{% if t %}{{ s | nofilter }}{% endif %}
{% if f %}{{ s is notest }}{% endif %}ok
{{ (s | nofilter) if f else 'ok' }}
{% for a in l %}{{ a | nofilter }}{% endfor %}
{% if f %}{% for a in l %}{{ a | nofilter }}{% endfor %}{% endif %}
{% print 1, 2, 'a' %}
{% raw %}{{ x }}{% if %}{% endraw %}
{%- raw -%}  {{ x }}  {%- endraw -%}  y
{# comment #}x{#- c -#}  y  {#- c #}  z
a {# multi
line #} b
  {# own line #}
x
  {% if t %}
    a
  {% endif %}
b
  {%+ if t %}a{% endif +%}
b
a  {%- if t -%}  b  {%- endif -%}  c
a  {{- i -}}  b
a
{{ i }}
b
{% if t -%}
   x
{%- endif %}
y
<div>{% if t %}
  x{% endif %}
</div>
	{% if t %}tab{% endif %}
x {% if t %} y {% endif %} z
{% set a = 1 -%}

x
{{ '}}' }}{{ '{{' }}{{ "%}" }}
{{ {'a': {'b': 1}}['a']['b'] }}
{{ {'a': {'b': 1}} }}
{% if t: %}x{% endif %}
{% for a in l: %}{{ a }}{% endfor %}
{% generation %}{{ i }}{% set q3 = 1 %}{% endgeneration %}{{ q3 }}
{% for a in l %}{% generation %}{{ a }}{{ loop.index }}{% endgeneration %}{% endfor %}
{% do 1 %}
{% unknown %}
{{ {'a b': 1} | xmlattr }}{{ 1 }}
{{ {'a': 1, 'b\x0b': 2} | xmlattr }}
{{ {1: 2} | xmlattr }}
{{ 5 | xmlattr }}
{{ nope | xmlattr }}
{{ {'a<': html | safe, 'b': html, 'c': 2.0} | xmlattr }}
{{ 5 | wordwrap }}
{{ nope | wordwrap }}
{{ 'a' | wordwrap(0) }}
{{ 'a' | wordwrap('x') }}
{{ (html | safe).casefold() }}{{ ((html | safe) | wordwrap(3)) + '<' }}
{{ (html | safe).translate({60: '['}) + '<' }}
{{ ((html | safe) | striptags) + '<' }}{{ ({'a': 1} | xmlattr) + '<' }}
{% if t %}
{% endif %}
{% for a in l %}{% endif %}
{{ 1
{% if
{{ }}
{% %}
{{ 1 2 }}
{{ (1 }}
{{ [1, }}
{{ 'a }}
{{ 1 + }}
{{ a.b. }}
{{ a | }}
{{ a is }}
{% set 1 = 2 %}
{% set a.b.c = 2 %}
{% set a = %}
{% for in l %}{% endfor %}
{% for a l %}{% endfor %}
{% macro %}{% endmacro %}
{# open
{% raw %}open
{{ a ! b }}
{{ $ }}
{{ foo(a=1, 2) }}
{{ foo(**a, *b) }}
{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.current }}
{% set j = joiner('; ') %}{{ j() }}a{{ j() }}b{{ j() }}
{% set x = namespace(l=[]) %}{% for a in l %}{% set x.l = x.l + [a * 2] %}{% endfor %}{{ x.l }}
{% set ns = namespace(found=false) %}{% for u in us %}{% if u.n == 'Bob' %}{% set ns.found = true %}{% endif %}{% endfor %}{{ ns.found }}
{{ raise_exception('a "quoted" message') }}
{% if us[0].n != 'zed' %}{{ raise_exception('Bad: ' ~ us[0].n) }}{% endif %}
{% set messages = us[1:] if us[0].g == 'x' else us %}{{ messages | length }}
{% set a = 'x' %}{% set a = a ~ 'y' %}{{ a }}
{%- for u in us -%}
  {{- u.n + ',' if not loop.last else u.n -}}
{%- endfor -%}
{% set ns = namespace(prev=0) %}{% for a in [1, 2, 2, 3] if a != ns.prev %}{% set ns.prev = a %}{{ a }}{% endfor %}
{{ ('a' ~ 'b')
   | upper }}

{% set line %}
two
{% endset %}
[{{ line }}]

""".strip("\n")

# Statements that need several lines; all others have one line each.
MULTI = [
    "{% filter indent(2) %}a\nb{% endfilter %}", "a {# multi\nline #} b", "  {# own line #}\nx", "  {% if t %}\n    a\n  {% endif %}\nb", "  {%+ if t %}a{% endif +%}\nb",
    "a\n{{ i }}\nb", "{% if t -%}\n   x\n{%- endif %}\ny", "<div>{% if t %}\n  x{% endif %}\n</div>", "{% set a = 1 -%}\n\nx", "{%- for u in us -%}\n  {{- u.n + ',' if not loop.last else u.n -}}\n{%- endfor -%}",
    "{{ ('a' ~ 'b')\n   | upper }}\n\n", "{% set line %}\ntwo\n{% endset %}\n[{{ line }}]\n", "a\r\nb\r{{ 'c\r\nd' | length }}\r\n", "x\n\n", "\n{% if t %}\n{% endif %}\n\n", "{{ i }}\n{% raw %}\n  {{ y }}\n{% endraw %}\nz",
    "  {% raw %} a {% endraw %} \n", "a\n  {{ i }}\n  {% if t %}  \nb{% endif %}", "{% if t %}\r\nx\r\n{% endif %}\r\n", "\t {%- if t %} a{% endif -%}\n b", "a\u00a0 {%- if t %}b{% endif %}", "a\n\u3000{% if t %}b{% endif %}", "{{ 'a\nb' }}", "{% set x = [\n  1,\n  2,\n] %}{{ x }}",
    "{{ '' }}", "", "\n", "plain", "{", "{ {", "}}", "%}", "#}", "{{ '{%' }}", "{{ i }}{", "{% if t %}{% else %}x{% endif %}",
    "{% macro m(x) %}\n  {{ x }}\n{% endmacro %}\n{{ m(1) }}|", "{% for a in l %}\n  {{ a }}\n{% endfor %}\nend", "{% for a in l -%}\n  {{ a }}\n{%- endfor %}\nend", "{#- a -#}\n\nb", "x{# c #}\ny", "x\n  {#+ c #}\ny",
    "{{ i -}}\n\n x", "{{- i }}\n", " {{- i }}", "{%- if t %} x {%- endif %}", "{{ 1 if t else\n 2 }}", "{%\nif t\n%}x{%\nendif\n%}",
]


def is_filter(text):
    return text.split("(")[0].strip().split(" ")[0].isalpha()


# Every piece of a row alone, and with the next ones as its filters. The latter may be no templates at all: those are left out.
PLAIN, JOINED = [], []
for row in EXPRESSIONS.strip("\n").split("\n"):
    parts = row.split(" | ")
    PLAIN += parts
    JOINED += [f"{a} | {b}" for a, b in zip(parts, parts[1:]) if is_filter(b)]
    JOINED += [f"{a} | {b} | {c}" for a, b, c in zip(parts, parts[1:], parts[2:]) if is_filter(b) and is_filter(c)]

CASES = list(dict.fromkeys(["{{ %s }}" % e for e in PLAIN] + STATEMENTS.split("\n") + MULTI))
CASES_IF_GOOD = [c for c in dict.fromkeys("{{ %s }}" % e for e in JOINED) if c not in set(CASES)]
