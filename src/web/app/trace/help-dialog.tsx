import { Dialog } from '../components/dialog.tsx';

const KEYS: readonly (readonly [string, string])[] = [
  ['j', 'The next step'],
  ['k', 'The step before'],
  ['e', 'The next step with an error'],
  ['g', 'To the top'],
  ['G', 'To the end'],
  ['/', 'Search'],
  ['Enter', 'In the search: the next place found; with Shift, the one before'],
  ['Esc', 'Leave the search, or a dialog'],
  ['?', 'These keys'],
];

export function HelpDialog({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {KEYS.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
