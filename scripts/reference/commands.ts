import { type Argument, Command, type Option } from 'commander';
import { COMMANDS } from '../../src/cli/commands.ts';
import { escapeText, toTable } from './markdown.ts';

/** Every command, as a program that is not run. */
export async function loadCommands(): Promise<Command> {
  const program = new Command('proctor');
  for (const load of Object.values(COMMANDS)) (await load())(program);
  return program;
}

/** The page of the command line, as Markdown, made from the definitions that the commands themselves use. */
export async function commandReference(): Promise<string> {
  const program = await loadCommands();
  const overview = program.commands.map((command) => [
    `[\`${nameOf(command)}\`](#${anchorOf(command)})`,
    command.description(),
  ]);
  return `${[HEAD, toTable(['Command', 'Purpose'], overview), ...program.commands.flatMap(toSections), TAIL].join('\n\n')}\n`;
}

const HEAD = `# Command line

<!-- Made by "npm run docs:commands" from the commands themselves. Change the command, not this page. -->

\`npx proctor <command>\`, in a project or in a checkout. Every command takes \`--help\`. \`proctor --version\` prints the version.

Commands read \`.env\`, the environment variables and \`proctor.config.ts\` of the directory that they are started in: see
[configuration](configuration.md). What a program reads goes to standard output. Progress and messages go to standard error.`;

const TAIL = `## Exit codes

${toTable(
  ['Code', 'Meaning'],
  [
    ['0', 'The command did what it was asked for.'],
    ['1', 'It could not, or a run did not pass, or it was stopped.'],
    ['2', 'The command line or the configuration is wrong. Nothing ran.'],
  ],
)}`;

/** A command, and below it the commands that it groups. */
function toSections(command: Command): readonly string[] {
  const { rest, examples } = readHelpText(command);
  const options = command.options.filter((option) => !option.hidden);
  const level = command.parent?.parent === null ? '##' : '###';
  return [
    `${level} ${nameOf(command)}`,
    command.description().replace(/^./, (first) => first.toUpperCase()),
    ...(command.commands.length > 0 && command.registeredArguments.length === 0
      ? []
      : [codeBlock(`${nameOf(command)} ${usageOf(command)}`)]),
    ...(options.length === 0 ? [] : [toTable(['Option', 'Default', 'Meaning'], options.map(toRow))]),
    ...rest,
    ...(examples === '' ? [] : [codeBlock(examples)]),
    ...command.commands.flatMap(toSections),
  ];
}

function toRow(option: Option): readonly string[] {
  // Where the default depends on something else, the description says it.
  const [, text = option.description, said] = /^(.*?)\s*\(default:? ([^()]*)\)$/.exec(option.description) ?? [];
  const known: unknown = option.negate ? undefined : option.defaultValue;
  const choices =
    option.argChoices === undefined ? '' : `: ${option.argChoices.map((choice) => `\`${choice}\``).join(', ')}`;
  return [
    `\`${option.flags}\``,
    known === undefined ? escapeText(said ?? '') : `\`${String(known)}\``,
    `${escapeText(text)}${choices}`,
  ];
}

const nameOf = (command: Command): string =>
  command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;

const anchorOf = (command: Command): string => nameOf(command).replaceAll(' ', '-');

function usageOf({ options, registeredArguments }: Command): string {
  const words = registeredArguments.map(toWord);
  return [...(options.length > 0 ? ['[options]'] : []), ...words].join(' ');
}

function toWord(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

/** The text that a command adds after its options: paragraphs and code, and its examples. */
function readHelpText(command: Command): { readonly rest: readonly string[]; readonly examples: string } {
  let printed = '';
  command.configureOutput({
    writeOut: (text) => {
      printed += text;
    },
  });
  command.outputHelp();
  const added = printed.slice(command.helpInformation().length).trim();
  const [before = '', examples = ''] = added.split(/^Examples:\n/m);
  return {
    rest:
      before.trim() === ''
        ? []
        : before
            .trim()
            .split(/\n\s*\n/)
            .flatMap(toBlocks),
    examples: withoutIndent(examples.replace(/^ {2}\$ /gm, '  ')),
  };
}

/** Indented lines are code, the others a paragraph. */
function toBlocks(paragraph: string): readonly string[] {
  const blocks: { readonly isCode: boolean; readonly lines: string[] }[] = [];
  for (const line of paragraph.split('\n')) {
    const isCode = line.startsWith('  ');
    const open = blocks.at(-1);
    if (open?.isCode === isCode) open.lines.push(line);
    else blocks.push({ isCode, lines: [line] });
  }
  return blocks.map(({ isCode, lines }) => {
    const text = lines.join('\n');
    if (!isCode) return text.startsWith('Exit code: ') ? toExitCodes(text) : escapeText(text);
    const code = withoutIndent(text);
    return code.startsWith('$ ') ? codeBlock(code.replace(/^(\$| ) /gm, '')) : codeBlock(code, 'text');
  });
}

/** A help text says "Exit code: 0 when this; 1 when that." */
function toExitCodes(text: string): string {
  const codes = text
    .replace(/^Exit code: |\.$/g, '')
    .replace(/\s+/g, ' ')
    .split(/; (?=\d )/);
  return ['Exit code:', '', ...codes.map((code) => `- ${escapeText(code.replace(/^\d/, '`$&`'))}`)].join('\n');
}

const withoutIndent = (text: string): string => text.replace(/^ {2}/gm, '').trimEnd();

const codeBlock = (code: string, language = 'sh'): string => `\`\`\`${language}\n${code}\n\`\`\``;
