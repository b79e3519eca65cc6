import { type DiffLine, diffLines, readPatch } from './line-diff.ts';

/** How the arguments of a call are shown: what is an edit as a comparison, what is code as code, the rest as JSON. */
export interface ArgumentParts {
  readonly edit: { readonly title: string; readonly lines: readonly DiffLine[] } | undefined;
  readonly code: readonly { readonly name: string; readonly text: string }[];
  /** Undefined where nothing is left. */
  readonly rest: Readonly<Record<string, unknown>> | undefined;
}

type Arguments = Readonly<Record<string, unknown>>;

/** Names that tools which edit files give to what was there, and to what is to be. */
const EDITS = [
  ['old_str', 'new_str'],
  ['old_string', 'new_string'],
  ['old_text', 'new_text'],
  ['search', 'replace'],
  ['find', 'replace'],
  ['before', 'after'],
  ['old', 'new'],
] as const;
const PATCHES = ['patch', 'diff'] as const;
const CODE = [
  'command',
  'cmd',
  'code',
  'script',
  'query',
  'sql',
  'content',
  'contents',
  'file_text',
  'source',
  'text',
] as const;
const PATHS = ['path', 'file_path', 'file', 'filename'] as const;
/** A short command is as easily read as JSON. */
const CODE_LENGTH = 32;

export function toArgumentParts(given: Arguments): ArgumentParts {
  const edit = toEdit(given);
  const code = edit === undefined ? toCode(given) : [];
  const taken = new Set([...(edit?.names ?? []), ...code.map(({ name }) => name)]);
  const rest = Object.fromEntries(Object.entries(given).filter(([name]) => !taken.has(name)));
  return {
    edit,
    code,
    rest: Object.keys(rest).length === 0 && taken.size > 0 ? undefined : rest,
  };
}

function toEdit(given: Arguments) {
  const title = PATHS.map((name) => given[name]).find((path) => typeof path === 'string') ?? '';
  for (const [old, fresh] of EDITS) {
    const [before, after] = [given[old], given[fresh]];
    if (typeof before === 'string' && typeof after === 'string') {
      return { title, names: [old, fresh], lines: diffLines(before, after) };
    }
  }
  for (const name of PATCHES) {
    const patch = given[name];
    if (typeof patch === 'string' && /^(@@|[-+]|\*\*\* )/m.test(patch))
      return { title, names: [name], lines: readPatch(patch) };
  }
  return undefined;
}

function toCode(given: Arguments): readonly { readonly name: string; readonly text: string }[] {
  return CODE.flatMap((name) => {
    const text = given[name];
    return typeof text === 'string' && (text.includes('\n') || text.length > CODE_LENGTH) ? [{ name, text }] : [];
  });
}
