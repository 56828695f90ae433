import type { ParameterChange } from '../parameter-change.ts';
import type { SdkWarning } from './types.ts';

/** Our names of what the packages warn about. */
const parameters: ReadonlyMap<string, string> = new Map([
  ['topP', 'top_p'],
  ['topK', 'top_k'],
  ['presencePenalty', 'presence_penalty'],
  ['frequencyPenalty', 'frequency_penalty'],
  ['stopSequences', 'stop'],
  ['maxOutputTokens', 'max_tokens'],
  ['responseFormat', 'response_format'],
  ['toolChoice', 'tool_choice'],
  ['tools', 'tools'],
  ['temperature', 'temperature'],
  ['seed', 'seed'],
  ['reasoning', 'reasoning'],
]);

/**
 * What the warnings of a package say of a request's parameters; a warning about anything else is
 * about its messages or tools.
 */
export function changesOfWarnings(
  warnings: readonly SdkWarning[],
  isSent: (parameter: string) => boolean,
): readonly ParameterChange[] {
  return warnings.flatMap((warning): readonly ParameterChange[] => {
    if (warning.type !== 'unsupported' && warning.type !== 'compatibility') return [];
    const { feature } = warning;
    const parameter = parameters.get(feature) ?? (feature.startsWith('tool') ? 'tools' : 'messages');
    const isKept = warning.type === 'compatibility' || isSent(parameter);
    return [{ parameter, change: isKept ? 'changed' : 'dropped' }];
  });
}
