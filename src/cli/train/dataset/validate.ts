import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DATASET_FILES, type DatasetFormat } from '../../../contract/service/dataset.ts';
import { knownSecrets } from '../../../service/config/known-secrets.ts';
import { loadProject } from '../../../service/config/project.ts';
import { createRedactor } from '../../../support/redaction/redactor.ts';
import { describeProblem, type FileProblem, validateFile } from '../../../training/dataset/validate/validate-file.ts';
import { SilentFailure, UsageError } from '../../base/failure.ts';
import { listenForStop } from '../../base/signals.ts';
import { colors, note, print, printable, printJson } from '../../base/terminal.ts';
import { readManifest } from './show.ts';

interface ValidateOptions {
  readonly format?: DatasetFormat;
  readonly maxProblems?: number;
  readonly json?: boolean;
}

interface CheckedFile {
  readonly file: string;
  readonly lines: number;
  readonly bytes: number;
  readonly errors: number;
  readonly warnings: number;
  readonly problems: readonly FileProblem[];
}

export async function validate(path: string, { format, maxProblems, json }: ValidateOptions): Promise<void> {
  using stop = listenForStop();
  const redactor = createRedactor(knownSecrets(await loadProject(), process.env));
  const checked: CheckedFile[] = [];
  for (const file of await filesAt(path, format)) {
    const problems: FileProblem[] = [];
    const onProblem = (problem: FileProblem) => {
      if (json) problems.push(problem);
      else tell(file.path, problem);
    };
    const options = { format: file.format, isTraining: file.isTraining, redactor, onProblem, signal: stop.signal };
    const result = await validateFile(file.path, maxProblems === undefined ? options : { ...options, maxProblems });
    checked.push({ file: file.path, ...result, problems });
    if (!json) print(`${file.path}: ${result.lines} lines, ${result.errors} errors, ${result.warnings} warnings`);
  }
  if (json) printJson({ files: checked });
  if (checked.some(({ errors }) => errors > 0)) throw new SilentFailure();
}

function tell(file: string, problem: FileProblem): void {
  const level = problem.level === 'error' ? colors.red('error') : colors.yellow('warning');
  note(`${level}: ${printable(describeProblem(file, problem), 400)}`);
}

interface FileToCheck {
  readonly path: string;
  readonly format: DatasetFormat;
  readonly isTraining: boolean;
}

async function filesAt(path: string, format: DatasetFormat | undefined): Promise<readonly FileToCheck[]> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw new UsageError(`There is no ${path}.`);
  if (!found.isDirectory()) {
    if (format !== undefined) return [{ path, format, isTraining: true }];
    throw new UsageError('--format is required for a file: it says what its lines are written for.');
  }
  const known = format ?? (await readManifest(path))?.format;
  if (known === undefined) throw new UsageError(`${path} is no dataset: it has no ${DATASET_FILES.manifest}.`);
  return [
    { path: join(path, DATASET_FILES.train), format: known, isTraining: true },
    { path: join(path, DATASET_FILES.validation), format: known, isTraining: false },
  ];
}
