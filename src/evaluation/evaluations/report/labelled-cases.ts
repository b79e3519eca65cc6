import { ApiError } from '../../../contract/errors.ts';
import {
  type JudgeScale,
  type LabelledCase,
  labelledCaseSchema,
  MAX_JUDGE_MATERIAL,
} from '../../../contract/service/judge.ts';

/** Most faults that an error lists. */
const MAX_LISTED = 20;

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
  if (isMixed(cases)) {
    throw refused(`${file} holds cases with yes or no and cases with numbers: put them into two files`);
  }
  return cases;
}

/**
 * Checks the cases of a request for faults that a schema cannot describe.
 *
 * @throws ApiError invalid_parameter with the path of the field.
 */
export function checkLabelledCases(cases: readonly LabelledCase[]): void {
  const indexOf = new Map<string, number>();
  for (const [index, labelled] of cases.entries()) {
    const known = indexOf.get(labelled.id);
    const fault =
      known === undefined
        ? faultOf(labelled)
        : { field: 'id', sentence: `${JSON.stringify(labelled.id)} is the id of cases.${known} too` };
    if (fault !== undefined) {
      const param = `cases.${index}.${fault.field}`;
      throw refused(`${param}: ${fault.sentence}.`, param);
    }
    indexOf.set(labelled.id, index);
  }
  if (isMixed(cases)) throw refused('cases has some with yes or no and some with numbers: send two requests.', 'cases');
}

function isMixed(cases: readonly LabelledCase[]): boolean {
  return cases.some(({ scale }) => (scale === 'boolean') !== (cases[0]?.scale === 'boolean'));
}

function refused(message: string, param: string | null = null): ApiError {
  return new ApiError('invalid_parameter', message, { param });
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
  const fault = faultOf(parsed.data);
  return fault === undefined ? parsed.data : `${fault.field}: ${fault.sentence}`;
}

interface CaseFault {
  readonly field: 'label' | 'material' | 'id';
  readonly sentence: string;
}

function faultOf(labelled: LabelledCase): CaseFault | undefined {
  const sentence = labelFault(labelled.label, labelled.scale);
  if (sentence !== undefined) return { field: 'label', sentence };
  const { length } = materialOf(labelled);
  if (length <= MAX_JUDGE_MATERIAL) return undefined;
  return { field: 'material', sentence: `it has ${length} characters, and may have ${MAX_JUDGE_MATERIAL}` };
}

function labelFault(label: boolean | number, scale: JudgeScale): string | undefined {
  if (scale === 'boolean') return typeof label === 'boolean' ? undefined : `${label} is neither true nor false`;
  if (typeof label !== 'number') return `${label} is no number of the scale`;
  return label < scale.min || label > scale.max ? `${label} is not from ${scale.min} to ${scale.max}` : undefined;
}
