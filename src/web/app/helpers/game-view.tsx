import { useEffect, useState } from 'preact/hooks';
import type { Evaluation } from '../../../contract/scenario.ts';
import { JsonTree } from '../components/json-tree.tsx';
import { LongText } from '../components/long-text.tsx';
import { Reward, rewardKind } from '../components/reward.tsx';
import { Loaded } from '../components/states.tsx';
import { Subscores } from '../trace/steps/outcome-cards.tsx';
import { useResource } from '../use-resource.ts';
import { AnswerForm } from './answer-form.tsx';
import { Messages } from './content.tsx';
import { OutcomeView } from './outcome-view.tsx';
import type { ScenarioGame } from './scenario-game.ts';
import { ToolEntry } from './tool-entry.tsx';
import { useAction } from './use-action.ts';

/** A scenario that is set up: what the agent is given, what it may call, and its answer. */
export function GameView({ game }: { readonly game: ScenarioGame }) {
  const { setup, session } = game;
  const [change, setChange] = useState(0);
  const [lost, setLost] = useState('');
  const { resource, reload } = useResource((signal) => game.tools(signal), [game, change]);
  const { outcome, run } = useAction<Evaluation>(session);
  useEffect(() => session.onChange(() => setChange((count) => count + 1)), [session]);
  useEffect(() => game.onLost(setLost), [game]);
  const isOver = outcome.state === 'done';
  return (
    <div class="game">
      {lost === '' ? null : (
        <p class="notice bad" role="alert">
          {lost}
        </p>
      )}
      <section class="card-block" aria-label="Prompt">
        <h4>What the agent is given</h4>
        {setup.system === null || setup.system === '' ? null : (
          <section class="message system" aria-label="System text">
            <h4>system</h4>
            <LongText text={setup.system} />
          </section>
        )}
        <Messages messages={setup.prompt} />
      </section>
      {isOver ? null : (
        <>
          <section class="card-block" aria-label="Tools of the scenario">
            <h4>What the agent may call</h4>
            <Loaded resource={resource} retry={reload}>
              {(tools) =>
                tools.length === 0 ? (
                  <p class="quiet">No tools: an agent can only answer.</p>
                ) : (
                  <div class="tool-list">
                    {tools.map((tool) => (
                      <ToolEntry key={tool.name} session={session} tool={tool} />
                    ))}
                  </div>
                )
              }
            </Loaded>
          </section>
          <section class="card-block" aria-label="The answer">
            <h4>What the agent answers</h4>
            <AnswerForm
              schema={setup.answer_schema}
              isRunning={outcome.state === 'running'}
              onAnswer={(answer) => void run((options) => game.evaluate(answer, options))}
            />
          </section>
        </>
      )}
      <OutcomeView outcome={outcome} done="Evaluated">
        {(evaluation) => <EvaluationView evaluation={evaluation} />}
      </OutcomeView>
    </div>
  );
}

function EvaluationView({ evaluation }: { readonly evaluation: Evaluation }) {
  const { reward, content, subscores, info } = evaluation;
  return (
    <section class={`card-block outcome evaluation ${rewardKind(reward)}`} aria-label="Evaluation">
      <header class="entry-head">
        <h4>Evaluation</h4>
        <span class="entry-facts" />
        <Reward reward={reward} />
      </header>
      {content === null || content === '' ? null : <LongText text={content} />}
      <Subscores subscores={subscores} />
      {Object.keys(info).length === 0 ? null : (
        <>
          <h4>What it found</h4>
          <JsonTree value={info} />
        </>
      )}
    </section>
  );
}
