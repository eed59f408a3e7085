import type { JSX, ReactNode } from 'react';

interface Props {
  label: string;
  help?: ReactNode;
  value: string;
  onChange: (value: string) => void;
  type?: 'text' | 'datetime-local' | 'search';
  /** The form of the text, for the check of the browser. */
  pattern?: string;
  hint?: string;
  placeholder?: string;
  isRequired?: boolean;
  maxLength?: number;
}

/** A field of a form with its label and its explanation. */
export function Field({
  label,
  help,
  value,
  onChange,
  type = 'text',
  pattern,
  hint,
  placeholder,
  isRequired,
  maxLength,
}: Props): JSX.Element {
  return (
    <label className="field">
      {label}
      <input
        className="input"
        type={type}
        value={value}
        onChange={({ target }) => onChange(target.value)}
        pattern={pattern}
        title={hint}
        placeholder={placeholder}
        required={isRequired}
        maxLength={maxLength}
        autoComplete="off"
        spellCheck={false}
      />
      {help !== undefined && <span className="help">{help}</span>}
    </label>
  );
}

/** A choice of a form. */
export function Choice({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: readonly (readonly [value: string, label: string])[];
  onChange: (value: string) => void;
}): JSX.Element {
  return (
    <label className="field">
      {label}
      <select className="select" value={value} onChange={({ target }) => onChange(target.value)}>
        {options.map(([id, text]) => (
          <option key={id} value={id}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The pattern of an amount in USD, and of a count. */
export const usdPattern = String.raw`\d{1,9}(\.\d{1,9})?`;
export const countPattern = String.raw`[1-9]\d{0,11}`;

/** @returns the number of a field. Null: it is empty */
export const readNumber = (text: string): number | null => (text.trim() === '' ? null : Number(text));
