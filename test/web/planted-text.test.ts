import { expect, it } from 'vitest';
import type { EventBody } from '../../src/contract/event.ts';
import { newTrace } from '../trace/events.ts';
import { attributesOf, parseHtml } from './html.ts';
import { openSite, type Site } from './site.ts';
import { begun, ending, failedInSetup, QUEUED, setUp, steps } from './traces.ts';

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

const ELEMENTS = new Set(
  (
    'html head meta title link body header main section article div p span a h1 h2 h3 h4 h5 code pre details summary dl ' +
    'dt dd table thead tbody tr th td figure figcaption strong svg rect img form input label button'
  ).split(' '),
);
const ATTRIBUTES = new Set(
  (
    'lang charset name content http-equiv rel href class id role title alt src loading method action type value for ' +
    'autocomplete required aria-label viewbox viewBox preserveaspectratio preserveAspectRatio x y width height'
  ).split(' '),
);
const ADDRESSES =
  /^(\/|\/assets\/style\.css|\/traces\/[0-9a-f]{32}|\/v1\/traces\/[0-9a-f]{32}|#step-\d+|\/v1\/blobs\/[0-9a-f]{64}|data:image\/png;base64,[A-Za-z0-9+/=]+)$/;

/** The planted text for each text of a value, whatever its field. */
function plant<T>(value: T): T {
  const into = (each: unknown, key: string): unknown => {
    if (typeof each === 'string') return KEPT.has(key) ? each : PLANTED;
    if (Array.isArray(each)) return each.map((member) => into(member, key));
    if (typeof each !== 'object' || each === null) return each;
    const isFree = FREE_OBJECTS.has(key);
    return Object.fromEntries(
      Object.entries(each).map(([name, member]) => [isFree ? `${name}${PLANTED}` : name, into(member, name)]),
    );
  };
  return into(value, '') as T;
}

/** What the schemas fix, and images' bytes, which have tests of their own. */
const KEPT = new Set(
  'type role status stop_reason finish_reason boundary code level end origin tool_call_id id data mimeType'.split(' '),
);
const FREE_OBJECTS = new Set('scenario_args metadata sampling arguments info structured_content answer'.split(' '));

async function expectNoMarkup(site: Site, path: string, cookie: string): Promise<string> {
  const { text, headers } = await site.browse(path, { cookie });
  const page = parseHtml(text);
  expect([...new Set(page.elements.map(({ name }) => name))].filter((name) => !ELEMENTS.has(name))).toEqual([]);
  const attributes = new Set(page.elements.flatMap((element) => [...element.attributes.keys()]));
  expect([...attributes].filter((name) => !ATTRIBUTES.has(name))).toEqual([]);
  const addresses = [
    ...attributesOf(page, 'a', 'href'),
    ...attributesOf(page, 'link', 'href'),
    ...attributesOf(page, 'img', 'src'),
  ];
  expect(addresses.filter((address) => !ADDRESSES.test(address))).toEqual([]);
  expect(page.elements.filter((element) => element.attributes.has('http-equiv'))).toEqual([]);
  expect(text).not.toMatch(/(?![\t\n\r])[\p{Cc}\p{Cf}]/u);
  expect(headers['content-security-policy']).toContain("default-src 'none'");
  return page.text;
}

it('text of an environment, a model or a tool never becomes markup, in whatever field it is planted', async () => {
  const site = await openSite();
  const cookie = await site.signIn();
  const queued = plant(QUEUED);
  const completed = plant([...begun, setUp, ...steps('none'), ...ending]) as readonly EventBody[];
  const failed = plant(failedInSetup()) as readonly EventBody[];
  const full = await site.addTrace(completed, newTrace(queued));
  const broken = await site.addTrace(failed, newTrace(queued));

  const fullText = await expectNoMarkup(site, `/traces/${full}`, cookie);
  await expectNoMarkup(site, `/traces/${broken}`, cookie);
  await expectNoMarkup(site, '/', cookie);
  await expectNoMarkup(site, `/traces/${encodeURIComponent(PLANTED)}`, cookie);

  // It is shown, though: every field that holds text shows the first line of it.
  expect(fullText.split('<script>alert(1)</script>').length).toBeGreaterThan(30);
  expect(fullText).toContain('␛]8;;https://evil.example␇click');
  expect(fullText).toContain('exe.[U+202E]gnp.[U+200B][U+2066]hidden[U+2069][U+E0041]');
});

it('every page forbids scripts, frames, inline styles and other addresses', async () => {
  const site = await openSite();
  const cookie = await site.signIn();
  const traceId = await site.addTrace([]);
  const policies = await Promise.all(
    [
      site.browse('/'),
      site.browse('/', { cookie }),
      site.browse(`/traces/${traceId}`, { cookie }),
      site.browse('/traces/unknown', { cookie }),
      site.submitSignIn({ key: 'wrong' }),
    ].map(async (reply) => (await reply).headers),
  );
  for (const headers of policies) {
    const directives = String(headers['content-security-policy']).split('; ').sort();
    expect(directives).toEqual([
      "base-uri 'none'",
      "default-src 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "img-src 'self' data:",
      "style-src 'self'",
    ]);
    expect(headers['x-content-type-options']).toBe('nosniff');
  }
});
