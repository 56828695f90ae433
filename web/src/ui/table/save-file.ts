import type { ExportFormat } from './export-rows.ts';

/** Gives the browser a file to save. */
export function saveFile(name: string, parts: readonly string[], format: ExportFormat): void {
  const type = format === 'csv' ? 'text/csv;charset=utf-8' : 'application/json';
  const url = URL.createObjectURL(new Blob([...parts], { type }));
  saveFrom(url, `${name}.${format}`);
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Lets the browser save what an address has, under its own name unless stated. */
export function saveFrom(url: string, name = ''): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
}
