import { createHash } from 'node:crypto';
import type { TraceStore } from '../store/traces/trace-store.ts';
import { builtStandalone } from '../support/http/reply/built-assets.ts';
import type { KeptTrace } from './trace-data.ts';

/** Images beyond it are left out, and said to be. In bytes. */
const MOST_BLOB_BYTES = 64 * 1024 * 1024;
const PAGE = 100;
const BLOB = /svc-blob:\/\/sha256\/([0-9a-f]{64})/g;

/**
 * A trace as one HTML file that opens without a server, and that asks nobody for anything: script, style, events and images
 * are in it. Undefined where the account has no such trace.
 */
export async function renderStandalone(
  store: TraceStore,
  traceId: string,
  account: string,
): Promise<string | undefined> {
  const trace = await store.traceSummary(traceId, account);
  if (trace === undefined) return undefined;
  const texts: string[] = [];
  const hashes = new Set<string>();
  for (let after = 0, isLast = false; !isLast; ) {
    const events = await store.events(traceId, { after, limit: PAGE });
    for (const event of events) {
      const text = JSON.stringify(event);
      for (const [, sha256 = ''] of text.matchAll(BLOB)) hashes.add(sha256);
      texts.push(text);
      after = event.seq;
    }
    isLast = events.length < PAGE;
  }
  const blobs = JSON.stringify(await readBlobs(store, hashes, account));
  return toDocument(traceId, `{"trace":${JSON.stringify(trace)},"events":[${texts.join(',')}],"blobs":${blobs}}`);
}

async function readBlobs(store: TraceStore, hashes: ReadonlySet<string>, account: string): Promise<KeptTrace['blobs']> {
  const blobs: Record<string, { readonly mimeType: string; readonly data: string }> = {};
  let left = MOST_BLOB_BYTES;
  for (const sha256 of hashes) {
    const blob = await store.blob(sha256, account);
    if (blob === undefined || blob.bytes.length > left || !blob.mimeType.startsWith('image/')) continue;
    left -= blob.bytes.length;
    blobs[sha256] = { mimeType: blob.mimeType, data: Buffer.from(blob.bytes).toString('base64') };
  }
  return blobs;
}

/** Text of a run is in a data block that no character of it can end. */
function toDocument(traceId: string, json: string): string {
  const { script: built, style } = builtStandalone();
  const script = built.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
  const policy = [
    "default-src 'none'",
    `script-src ${policyHash(script)}`,
    `style-src ${policyHash(style)}`,
    'img-src data: blob:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Trace ${traceId} · Proctor</title>
<style>${style}</style>
</head>
<body>
<div id="app"></div>
<noscript>This file needs JavaScript. What it shows is the JSON in it.</noscript>
<script type="application/json" id="trace">${json.replaceAll('<', '\\u003c')}</script>
<script>${script}</script>
</body>
</html>
`;
}

function policyHash(content: string): string {
  return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
}
