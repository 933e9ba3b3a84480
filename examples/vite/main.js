import { LM } from '@openfluke/welvet';

const [file, question, answer] = ['file', 'question', 'answer'].map((id) => document.getElementById(id));
const button = document.querySelector('button');
let lm;

file.addEventListener('change', async () => {
  try {
    lm = await LM.load(file.files[0], {
      onProgress: (part) => (answer.textContent = `Loading: ${Math.round(100 * part)} %`),
    });
    answer.textContent = 'Ready.';
    button.disabled = question.disabled = false;
  } catch (error) {
    answer.textContent = error.message;
  }
});

document.querySelector('form').addEventListener('submit', async (event) => {
  event.preventDefault();
  answer.textContent = '';
  const stream = lm.stream(question.value);
  for await (const text of stream) answer.textContent += text;
  answer.title = (await stream.result).hash;
});
