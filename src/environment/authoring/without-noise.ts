import type { JsonSchema } from '../../contract/json.ts';
import { mapSubschemas } from './schema/json-schema-walk.ts';

/**
 * Removes keywords that schema libraries add and that tell the reader nothing: the bounds of safe integers, and a
 * `pattern` that repeats the `format` beside it. Models get these schemas with every request, so they should be short.
 * The library still checks both keywords.
 */
export function withoutNoise(schema: JsonSchema): JsonSchema {
  const kept = Object.entries(schema).filter(([keyword, value]) => !isNoise(schema, keyword, value));
  return mapSubschemas(Object.fromEntries(kept), withoutNoise);
}

/** Valid sample values of each format. A pattern that accepts all of them says no more than the format. */
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  date: ['1987-12-31', '2024-02-29', '3000-01-01'],
  'date-time': ['1987-12-31T23:59:59Z', '2024-02-29T00:00:00.123Z'],
  duration: ['P3W', 'P1Y2M3DT4H5M6S', 'PT30M'],
  email: ['ada@example.com', 'ada.b-c+d_1@mail.example.org'],
  hostname: ['example.com', 'a1.b-c.example.org'],
  ipv4: ['0.0.0.0', '192.168.10.255'],
  ipv6: ['2001:db8:85a3:0:0:8a2e:370:7334', 'fe80::1', '::'],
  uri: ['https://ada@example.com:80/a/b?c=d#e', 'mailto:ada@example.com'],
  uuid: ['6fa459ea-ee8a-1ca4-894e-db77e160355e', '16fd2706-8baf-433b-82eb-8c7fada847da'],
};

function isNoise({ type, format }: JsonSchema, keyword: string, value: unknown): boolean {
  const isNumber = type === 'integer' || type === 'number';
  if (keyword === 'maximum') return isNumber && value === Number.MAX_SAFE_INTEGER;
  if (keyword === 'minimum') return isNumber && value === Number.MIN_SAFE_INTEGER;
  return keyword === 'pattern' && typeof format === 'string' && spells(format, value);
}

function spells(format: string, pattern: unknown): boolean {
  const samples = Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  if (samples === undefined || typeof pattern !== 'string') return false;
  try {
    const expression = new RegExp(pattern, 'u');
    return samples.every((sample) => expression.test(sample));
  } catch {
    return false;
  }
}
