import { describe, expect, it } from 'vitest';
import { withoutMachineText } from '../../../src/support/redaction/machine-text.ts';

const NODE_STACK = [
  'Error: Invalid API key',
  '    at Object.<anonymous> (/srv/gateway/index.js:10:5)',
  '    at Module._compile (node:internal/modules/cjs/loader:1554:14)',
  '    at Layer.handle [as handle_request] (/srv/gateway/node_modules/express/lib/router/layer.js:95:5)',
  '    at async Promise.all (index 0)',
  '    at async file:///srv/gateway/app.mjs:3:1',
  '    at new Gateway (C:\\gateway\\index.js:7:9)',
].join('\n');

const PYTHON_STACK = [
  'Traceback (most recent call last):',
  '  File "/usr/lib/python3.12/site-packages/litellm/main.py", line 412, in completion',
  '    raise AuthenticationError(',
  '    ^^^^^^^^^^^^^^^^^^^^^^^^^^',
  '  File "/app/proxy.py", line 7, in <module>',
  '    check(key)',
  'litellm.AuthenticationError: The key is not known',
].join('\n');

describe('a text of a gateway or an environment', () => {
  it.each([
    ['Invalid API key at Object.<anonymous> (/srv/gateway/index.js:10:5)', 'Invalid API key'],
    ['Invalid API key\n    at Object.<anonymous> (/srv/gateway/index.js:10:5)', 'Invalid API key'],
    [
      'Invalid API key\\n    at Object.<anonymous> (/srv/gateway/index.js:10:5)\\n at run (node:vm:1:2)',
      'Invalid API key',
    ],
    ['No key    at check (/home/max mustermann/gateway/a b.js:1:2). Ask for one.', 'No key. Ask for one.'],
    [NODE_STACK, 'Error: Invalid API key'],
    ['{"error":"no key","stack":"Error: no key\\n    at a (/srv/x.js:1:2)","code":4}', '{"error":"no key","code":4}'],
    ['{"message":"no key","stack":["/srv/x.js:1","/srv/y.js:2"]}', '{"message":"no key"}'],
    ['said {\\"detail\\":\\"no key\\",\\"traceback\\":\\"File /app/x.py\\"}', 'said {\\"detail\\":\\"no key\\"}'],
    [PYTHON_STACK, 'litellm.AuthenticationError: The key is not known'],
    [PYTHON_STACK.replaceAll('\n', ' '), 'litellm.AuthenticationError: The key is not known'],
    [PYTHON_STACK.replaceAll('\n', '\\n'), 'litellm.AuthenticationError: The key is not known'],
    ['Bad key\n  File "/app/proxy.py", line 7, in run', 'Bad key'],
    ['Refused\n\tat shop.Cart.add(Cart.java:10)\n\tat shop.Main.main(Main.java:3)\n\t... 12 more', 'Refused'],
    ['Refused\n   at Shop.Cart.Add(Item item) in C:\\src\\Cart.cs:line 10', 'Refused'],
    ['panic: no key\n\ngoroutine 1 [running]:\nmain.main()\n\t/srv/main.go:8 +0x1d', 'panic: no key'],
  ])('loses its stack and keeps its sentence: %j', (text, cleaned) => {
    expect(withoutMachineText(text)).toBe(cleaned);
  });

  it.each([
    [
      "ENOENT: no such file or directory, open '/srv/data/orders.json'",
      "ENOENT: no such file or directory, open '[path]'",
    ],
    ["cannot read '/home/max mustermann/my keys/key.pem' now", "cannot read '[path]' now"],
    ['cannot read /etc/gateway/keys.yaml.', 'cannot read [path].'],
    ['cannot read /etc/gateway/keys.yaml: denied', 'cannot read [path]: denied'],
    ['see file:///opt/gateway/readme.md for more', 'see [path] for more'],
    ['cannot read C:\\Users\\max\\key.pem, sorry', 'cannot read [path], sorry'],
    ['cannot read "C:\\Program Files\\Gateway\\key.pem"', 'cannot read "[path]"'],
    ['{"detail":"cannot read C:\\\\Users\\\\max\\\\key.pem"}', '{"detail":"cannot read [path]"}'],
    ['cannot read D:/gateway/key.pem', 'cannot read [path]'],
    ['cannot read \\\\fileserver\\share\\key.pem', 'cannot read [path]'],
    ['failed (/gateway/src/index.ts:10:5)', 'failed ([path])'],
    ['config=/var/lib/gateway/x.db', 'config=[path]'],
    ['/root/.config/gateway failed', '[path] failed'],
    ['/Users/max/gateway/index.js:3', '[path]'],
  ])('loses its paths: %j', (text, cleaned) => {
    expect(withoutMachineText(text)).toBe(cleaned);
  });

  it.each([
    'Incorrect API key provided. You can find your API key at https://platform.example/docs/errors.',
    'See https://platform.example/app/settings/keys/a.js:10 (or http://10.0.0.7:8080/usr/local).',
    'Unknown route POST /v1/chat/completions; try /openai/v1/models or /docs/errors.',
    'You used 4/5 of the requests per minute and/or tokens; try again at 10:05:30.',
    'Look at the model (gpt-4.1-mini), at 3 of 5 (60%), and at Berlin (Germany).',
    'The model meta-llama/Llama-3.1-8B-Instruct does not exist at this gateway (yet).',
    'Unknown parameter: messages[0].content. Ratio 1:2, a C: no, "w/o" it.',
    'The value 3\nat line 4 is not a number (line 4)',
    'environments/ticket/environment.ts:11:27: TICKET_DATABASE is not set',
    '{"error":{"message":"no","type":"invalid_request_error","trace_id":"abc/def"}}',
    'Überprüfen Sie den Schlüssel: 密钥无效 🔑',
    '',
  ])('stays as it is where it tells nothing of a machine: %j', (text) => {
    expect(withoutMachineText(text)).toBe(text);
  });

  it('has its long runs of blanks and backslashes made short, on which the patterns would take seconds', () => {
    expect(withoutMachineText(`No${' '.repeat(64)}key${'\\n'.repeat(64)}here`)).toBe('No\nkey\nhere');
    expect(withoutMachineText(`a${'\\'.repeat(500)}b`)).toBe(`a${'\\'.repeat(16)}b`);
  });

  it('is cleaned whatever it is made of, and its length is bounded', () => {
    const hostile = [
      'at ',
      'at a (',
      '/home/',
      'C:\\',
      '\\\\a\\',
      '"stack":"',
      '"stack":["',
      'Traceback (most recent call last):',
      ' File "',
      '\n\tat a(',
      '/a',
      "'/home/a ",
      '\\n',
      '\\',
      ...[' ', '\t', '\n', '\r', ' \n', '\n\t', '\\\n ', '\u00a0', '\u2003'],
      'Traceback (most recent call last):\n ',
    ];
    for (const part of hostile) expect(withoutMachineText(part.repeat(20_000)).length).toBeLessThanOrEqual(40_000);
  });
});
