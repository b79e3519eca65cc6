import { useState } from 'preact/hooks';
import { Icon } from './icons.tsx';

const THANKS_MS = 1_500;

/** Copies a text as it is, hidden characters too. The text is asked for when it is needed. */
export function CopyButton({ text, label = 'Copy' }: { text(): string; readonly label?: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(text());
    setCopied(true);
    setTimeout(() => setCopied(false), THANKS_MS);
  };
  return (
    <button
      type="button"
      class="icon-button small"
      title={label}
      aria-label={isCopied ? 'Copied' : label}
      onClick={() => void copy()}
    >
      <Icon name={isCopied ? 'check' : 'copy'} />
    </button>
  );
}

/** Pages that were not sent over HTTPS or by this very machine have no clipboard of their own. */
async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
}
