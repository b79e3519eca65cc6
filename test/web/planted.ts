/** What somebody would write who wants to get out of a text. */
const PLANTED = [
  '<script>alert(1)</script>',
  '</pre></code></title></textarea></style></noscript><script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  `' onmouseover='alert(1)`,
  '" onfocus="alert(1)" autofocus="',
  '<a href="javascript:alert(1)">click</a>',
  'javascript:alert(1)',
  '<svg/onload=alert(1)>',
  '<!-- --!><script>',
  ']]><script>',
  '&lt;script&gt;&#60;script&#62;',
  '<style>*{display:none}</style>',
  '<meta http-equiv="refresh" content="0;url=https://evil.example">',
  '<base href="https://evil.example">',
  '<form action="https://evil.example"><button>Sign in</button></form>',
  '{{constructor.constructor("alert(1)")()}}',
  '<\u0000script>',
  '\u001b]8;;https://evil.example\u0007click\u001b]8;;\u0007',
  'exe.\u202egnp.\u200b\u2066hidden\u2069\u{e0041}',
].join('\n');

/** The planted text for each text of a value, whatever its field, and in every name that is free. */
export function plant<T>(value: T): T {
  const into = (each: unknown, key: string): unknown => {
    if (typeof each === 'string') return KEPT.has(key) ? each : PLANTED;
    if (Array.isArray(each)) return each.map((member) => into(member, key));
    if (typeof each !== 'object' || each === null) return each;
    const isFree = FREE_OBJECTS.has(key);
    return Object.fromEntries(
      Object.entries(each).map(([name, member]) => [isFree ? `${name}${PLANTED}` : name, into(member, name)]),
    );
  };
  return into(value, '') as T; // Of the same shape.
}

/** What the schemas fix, and images' bytes, which have tests of their own. */
const KEPT = new Set(
  'type role status stop_reason finish_reason boundary code level end origin tool_call_id id data mimeType'.split(' '),
);
const FREE_OBJECTS = new Set('scenario_args metadata sampling arguments info structured_content answer'.split(' '));
