import { Fragment, options, type VNode } from 'preact';
import { revealHidden } from '../format.ts';

/**
 * From now on every text that is drawn, and every attribute that is read out, shows characters by their names that hide
 * or reorder text, whichever component draws it.
 */
export function revealEveryText(): void {
  const before = options.vnode;
  options.vnode = (vnode: VNode) => {
    const { type, props } = vnode;
    // The props of a component end in an element or a fragment.
    if (typeof type === 'string' || type === Fragment) revealProps(props as Record<string, unknown>);
    before?.(vnode);
  };
}

const READ_OUT = ['title', 'aria-label', 'alt', 'placeholder'] as const;

function revealProps(props: Record<string, unknown>): void {
  props.children = revealChildren(props.children);
  for (const name of READ_OUT) if (typeof props[name] === 'string') props[name] = revealHidden(props[name]);
}

function revealChildren(children: unknown): unknown {
  if (typeof children === 'string') return revealHidden(children);
  return Array.isArray(children) && children.some((child) => typeof child === 'string' || Array.isArray(child))
    ? children.map(revealChildren)
    : children;
}
