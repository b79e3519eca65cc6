import { z } from 'zod';
import { ApiError } from '../../../contract/errors.ts';
import { type JudgeScale, judgeScaleSchema, MAX_JUDGE_MATERIAL } from '../../../contract/service/judge.ts';

/** Most faults that an error lists. */
const MAX_LISTED = 20;

const labelledCaseSchema = z.strictObject({
  id: z.string().min(1),
  rubric: z.string().min(1),
  /** Text or JSON for the judge. */
  material: z.json(),
  /** A boolean, or a number on the scale. */
  label: z.union([z.boolean(), z.number()]),
  scale: judgeScaleSchema.default('boolean'),
  context: z.string().nullable().default(null),
});
export type LabelledCase = z.output<typeof labelledCaseSchema>;

/**
 * Reads labelled cases, one JSON object a line; empty lines are left out.
 *
 * @throws ApiError invalid_parameter that names the lines and fields, at most 20.
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
  if (faults.length > 0) throw refused(faults.join('\n'));
  if (cases.length === 0) throw refused(`${file} holds no case: write one JSON object a line`);
  if (cases.some(({ scale }) => (scale === 'boolean') !== (cases[0]?.scale === 'boolean'))) {
    throw refused(`${file} holds cases with yes or no and cases with numbers: put them into two files`);
  }
  return cases;
}

function refused(message: string): ApiError {
  return new ApiError('invalid_parameter', message);
}

/** Text for a judge. */
export function materialOf({ material }: Pick<LabelledCase, 'material'>): string {
  return typeof material === 'string' ? material : JSON.stringify(material);
}

/** Reads one line. @returns the problem if it is no case. */
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
