import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { Field, Input, Textarea } from '../../ui/field.tsx';
import { Banner } from '../../ui/states.tsx';
import { Segmented } from '../../ui/tabs.tsx';
import { ActDialog } from '../acts/act-dialog.tsx';

const levels = ['info', 'warning', 'critical'] as const;
const tones = { info: 'accent', warning: 'warn', critical: 'bad' } as const;
const languages = ['ko', 'en'] as const;
/** Times are typed in Seoul time, wherever the operator sits. */
const seoulOffset = '+09:00';

/** Announces something: both languages, a level, and when it is shown. */
export function Announce({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('announcements');
  const [level, setLevel] = useState<(typeof levels)[number]>('info');
  const [text, setText] = useState({ ko: '', en: '' });
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const [isTried, setIsTried] = useState(false);
  const stated = { ko: text.ko.trim(), en: text.en.trim() };
  return (
    <ActDialog
      title={t('announceTitle')}
      description={t('announceText')}
      confirmText={t('announce')}
      isDangerous={level === 'critical'}
      values={[level, stated.ko, stated.en, from, to]}
      isValid={stated.ko !== '' && stated.en !== ''}
      onInvalid={() => setIsTried(true)}
      act={(changeKey) =>
        change(
          'POST /console/api/announcements',
          {
            body: {
              level,
              text: stated,
              ...(from === '' ? {} : { from: `${from}:00${seoulOffset}` }),
              ...(to === '' ? {} : { to: `${to}:00${seoulOffset}` }),
            },
          },
          changeKey,
        )
      }
      done={t('announced')}
      onClose={onClose}
    >
      <div>
        <Segmented
          label={t('column.level')}
          value={level}
          onChange={setLevel}
          options={levels.map((value) => ({ value, label: t(`level.${value}`) }))}
        />
      </div>
      {languages.map((language) => (
        <Field
          key={language}
          label={t(`text.${language}`)}
          error={isTried && stated[language] === '' ? t('textError') : null}
        >
          <Textarea
            value={text[language]}
            maxLength={500}
            rows={2}
            lang={language}
            onChange={({ target }) => setText({ ...text, [language]: target.value.replaceAll(/\s+/g, ' ') })}
          />
        </Field>
      ))}
      <div className="grid grid-cols-2 gap-3 max-md:grid-cols-1">
        <Field label={t('fromKst')} hint={t('fromHint')} optionalText={t('common:optional')}>
          <Input type="datetime-local" value={from} onChange={({ target }) => setFrom(target.value)} />
        </Field>
        <Field label={t('toKst')} hint={t('toHint')} optionalText={t('common:optional')}>
          <Input type="datetime-local" value={to} onChange={({ target }) => setTo(target.value)} />
        </Field>
      </div>
      {stated.ko === '' ? null : <Banner tone={tones[level]}>{stated.ko}</Banner>}
    </ActDialog>
  );
}
