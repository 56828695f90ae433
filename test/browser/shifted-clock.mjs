/**
 * Loaded before the program of a server (`--import …?file=PATH`): its civil time is behind by as many
 * milliseconds as the file states, so that a picture has calls of a month. Durations stay true.
 */
import { readFileSync } from 'node:fs';

const file = new URL(import.meta.url).searchParams.get('file') ?? '';
const now = Date.now.bind(Date);
Date.now = () => now() - Number(readFileSync(file, 'utf8'));
