import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { RunInput } from '../../../contract/run.ts';
import type { ScenarioEntry } from '../../../contract/scenario.ts';
import { ApiError } from '../../../service-client/api-error.ts';
import { service } from '../api.ts';
import { navigate } from '../router.ts';
import { useResource } from '../use-resource.ts';
import { ArgumentField } from './argument-field.tsx';
import { ownOf, readFields, toFields } from './form-values.ts';

/** Plays the scenario's own solution: it needs no gateway, so that the first run works. */
const FIRST_MODEL = 'proctor/oracle';
const MAX_STEPS = { default: 100, maximum: 500 } as const;

/** A form made from the scenario's schema; it starts a run and goes to its trace. */
export function RunForm({ envName, scenario }: { readonly envName: string; readonly scenario: ScenarioEntry }) {
  const fields = toFields(scenario);
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const [model, setModel] = useState(FIRST_MODEL);
  const [maxSteps, setMaxSteps] = useState(String(MAX_STEPS.default));
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  const [problem, setProblem] = useState('');
  const [isSending, setSending] = useState(false);
  const models = useResource((signal) => service.models.list({ signal }), []).resource;
  const form = useRef<HTMLFormElement>(null);
  const id = useId();
  // What is wrong is where one goes on.
  useEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus(), [problems]);

  const start = async () => {
    const read = readFields(fields, texts);
    setProblems(read.problems);
    setProblem('');
    if (Object.keys(read.problems).length > 0) return;
    setSending(true);
    try {
      const run = {
        env_name: envName,
        scenario_name: scenario.short_name,
        scenario_args: read.args,
        model,
        max_steps: Number(maxSteps),
      } as RunInput; // The service checks the arguments by the scenario's schema.
      const { trace_id } = await service.runs.create(run);
      navigate(`/traces/${trace_id}`);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const name = fieldOf(error);
      if (name !== undefined && fields.some((field) => field.name === name)) setProblems({ [name]: message });
      else setProblem(message);
      setSending(false);
    }
  };

  return (
    <form
      ref={form}
      class="run-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      {fields.length === 0 ? null : (
        <div class="argument-fields">
          {fields.map((field) => (
            <ArgumentField
              key={field.name}
              id={`${id}-${field.name}`}
              field={field}
              text={ownOf(texts, field.name) ?? field.initial}
              problem={ownOf(problems, field.name)}
              onChange={(text) => setTexts({ ...texts, [field.name]: text })}
            />
          ))}
        </div>
      )}
      <div class="field-row">
        <div class="field">
          <label for={`${id}-model`}>Model</label>
          <input
            id={`${id}-model`}
            list={`${id}-models`}
            value={model}
            spellcheck={false}
            autocomplete="off"
            onInput={({ currentTarget }) => setModel(currentTarget.value)}
          />
          <datalist id={`${id}-models`}>
            {models.state === 'ready'
              ? models.value.data.map((each) => <option key={each.id} value={each.id} />)
              : null}
          </datalist>
        </div>
        <div class="field">
          <label for={`${id}-steps`}>Steps, at most</label>
          <input
            id={`${id}-steps`}
            type="number"
            min="1"
            max={MAX_STEPS.maximum}
            value={maxSteps}
            onInput={({ currentTarget }) => setMaxSteps(currentTarget.value)}
          />
        </div>
      </div>
      {problem === '' ? null : (
        <p class="notice bad" role="alert">
          {problem}
        </p>
      )}
      <div>
        <button type="submit" class="button main" disabled={isSending}>
          {isSending ? 'Starting…' : 'Start'}
        </button>
      </div>
    </form>
  );
}

/** The argument that the service found at fault, also where the fault is deep in it: `scenario_args.items[0].id`. */
function fieldOf(error: unknown): string | undefined {
  const param = error instanceof ApiError ? (error.param ?? '') : '';
  return /^scenario_args\.([^.[]+)/.exec(param)?.[1];
}
