import { expect, it } from 'vitest';
import { openSite } from './site.ts';

const NEVER = [
  "base-uri 'none'",
  "default-src 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "style-src 'self'",
];

it('a page of the application runs our own script alone, talks to this server alone, and makes no markup of texts', async () => {
  const site = await openSite();
  const cookie = await site.signIn();
  const traceId = await site.addTrace([]);
  for (const path of ['/', `/traces/${traceId}`, '/compare', '/environments', '/environments/x', '/usage']) {
    const { status, headers } = await site.browse(path, { cookie });
    expect([path, status]).toEqual([path, 200]);
    expect(String(headers['content-security-policy']).split('; ').sort()).toEqual(
      [
        ...NEVER,
        "connect-src 'self'",
        "img-src 'self' data: blob:",
        "require-trusted-types-for 'script'",
        "script-src 'self'",
        "trusted-types 'none'",
      ].sort(),
    );
    expect(headers['x-content-type-options']).toBe('nosniff');
  }
});

it('the sign-in form and what is not found run no script at all', async () => {
  const site = await openSite();
  const cookie = await site.signIn();
  const replies = [
    await site.browse('/'),
    await site.browse('/traces/unknown', { cookie }),
    await site.submitSignIn({ key: 'wrong' }),
  ];
  for (const { headers } of replies) {
    expect(String(headers['content-security-policy']).split('; ').sort()).toEqual(
      [...NEVER, "img-src 'self' data:"].sort(),
    );
    expect(headers['x-content-type-options']).toBe('nosniff');
  }
});
