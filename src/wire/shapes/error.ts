import { z } from 'zod';

/** The body of every error under `/api/v1` except 413 (spec:errors/1). */
export const errorShape = z.strictObject({
  error: z.strictObject({
    code: z.int().min(400).max(599).describe('Equals the HTTP status'),
    message: z.string().min(1).describe('For people; the wording may change'),
    metadata: z
      .object({ error_type: z.string().min(1).describe('The machine-readable type; use this in code') })
      .catchall(z.unknown())
      .describe('Further members depend on the error type'),
  }),
});
