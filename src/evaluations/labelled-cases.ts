import { z } from 'zod';
import { type JudgeScale, judgeScaleSchema, MAX_JUDGE_MATERIAL } from '../contract/judge.ts';

/** Faults of a file that its refusal lists. */
const MAX_LISTED = 20;

const labelledCaseSchema = z.strictObject({
  id: z.string().min(1),
  rubric: z.string().min(1),
  /** Text, or JSON. */
  material: z.json(),
  /** Yes or no, or a number of the scale. */
  label: z.union([z.boolean(), z.number()]),
  scale: judgeScaleSchema.default('boolean'),
  context: z.string().nullable().default(null),
});
export type LabelledCase = z.output<typeof labelledCaseSchema>;

/** The file cannot be used: each line says which one, which field, and why. */
export class CasesRefused extends Error {
  override readonly name = 'CasesRefused';
}

/**
 * Reads labelled cases, one JSON object a line; empty lines are left out.
 *
 * @throws CasesRefused that names the lines and fields, at most 20.
 */
export function readLabelledCases(text: string, file: string): readonly LabelledCase[] {
  const cases: LabelledCase[] = [];
  const faults: string[] = [];
  const lineOf = new Map<string, number>();
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const read = readCase(line.replace(/^\ufeff/, ''));
    const known = typeof read === 'string' ? undefined : lineOf.get(read.id);
    if (typeof read === 'string') faults.push(`${file}:${index + 1}: ${read}`);
    else if (known !== undefined) {
      faults.push(`${file}:${index + 1}: id: ${JSON.stringify(read.id)} is the id of line ${known} too`);
    } else {
      lineOf.set(read.id, index + 1);
      cases.push(read);
    }
  }
  if (faults.length > MAX_LISTED) faults.splice(MAX_LISTED, faults.length, `and ${faults.length - MAX_LISTED} more`);
  if (faults.length > 0) throw new CasesRefused(faults.join('\n'));
  if (cases.length === 0) throw new CasesRefused(`${file} holds no case: write one JSON object a line`);
  if (cases.some(({ scale }) => (scale === 'boolean') !== (cases[0]?.scale === 'boolean'))) {
    throw new CasesRefused(`${file} holds cases with yes or no and cases with numbers: put them into two files`);
  }
  return cases;
}

/** Text for a judge. */
export function materialOf({ material }: Pick<LabelledCase, 'material'>): string {
  return typeof material === 'string' ? material : JSON.stringify(material);
}

/** @returns what is wrong with the line, where it is no case. */
function readCase(line: string): LabelledCase | string {
  let given: unknown;
  try {
    given = JSON.parse(line);
  } catch (cause) {
    return `it is not JSON (${(cause as Error).message})`;
  }
  const parsed = labelledCaseSchema.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return `${issue?.path.join('.') || 'the line'}: ${issue?.message}`;
  }
  const { label, scale } = parsed.data;
  const fault = faultOf(label, scale);
  if (fault !== undefined) return `label: ${fault}`;
  const { length } = materialOf(parsed.data);
  return length > MAX_JUDGE_MATERIAL
    ? `material: it has ${length} characters, and may have ${MAX_JUDGE_MATERIAL}`
    : parsed.data;
}

function faultOf(label: boolean | number, scale: JudgeScale): string | undefined {
  if (scale === 'boolean') return typeof label === 'boolean' ? undefined : `${label} is neither true nor false`;
  if (typeof label !== 'number') return `${label} is no number of the scale`;
  return label < scale.min || label > scale.max ? `${label} is not from ${scale.min} to ${scale.max}` : undefined;
}
